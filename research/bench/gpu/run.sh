#!/usr/bin/env bash
# Runs the GPU tests and benchmarks of this folder.
#
#   target/gpu-bundle/run.sh [FOLDER [PART]]
#
# Logs and records go to FOLDER (default: gpu-results). PART is tests, bench, sanitizer, gpus
# (several GPUs compared with one), paper (its tables), lab (the reduction laboratory) or all (the
# default).
set -u
bundle=$(cd "$(dirname "$0")" && pwd)
out=$(mkdir -p "${1:-gpu-results}" && cd "${1:-gpu-results}" && pwd)
what=${2:-all}
cd "$bundle/../.." || exit 1
export CTRU_REQUIRE_GPU=1 CTRU_VECTORS="$PWD/tests/vectors"
export CTRU_GPU_OPERATIONS=${CTRU_GPU_OPERATIONS:-1048576}
failed=0
records=(tests/vectors/ctru-prime-*.jsonl tests/vectors/sntrup{653,761,1277}.jsonl)

# Runs a command, writes its output to a log, and prints whether it succeeded.
check() {
    local name=$1 start=$SECONDS
    shift
    if "$@" > "$out/$name.log" 2>&1; then
        echo "ok     $name ($((SECONDS - start)) s): $(tail -n 1 "$out/$name.log")"
    else
        echo "FAILED $name ($((SECONDS - start)) s)"
        tail -n 40 "$out/$name.log"
        failed=1
    fi
}

nvidia-smi --query-gpu=name,driver_version,clocks.sm,power.draw --format=csv
"$bundle/ctru" devices

if [[ $what == tests || $what == all ]]; then
    check runtime "$bundle/cuda"
    check machine "$bundle/machine"
    check own_kernel "$bundle/own_kernel"
    check kernels "$bundle/kernels" --include-ignored --test-threads 2
    check gpu_engine "$bundle/gpu_engine" --test-threads 2
    check selftest "$bundle/ctru" selftest --engine gpu
    check kat "$bundle/ctru" kat check --engine gpu "${records[@]}"
    check paper_kernels "$bundle/paper_kernels" --test-threads 2
    check paper_kem "$bundle/paper_kem" --test-threads 2
fi
# Fails unless the sanitizer reports the fault of a kernel that is faulty on purpose.
find_fault() {
    local tool=$1 fault=$2 report=$3 text status=0
    text=$(compute-sanitizer --tool "$tool" --error-exitcode 42 \
        "$bundle/planted" run "$fault" 2>&1) || status=$?
    printf '%s\n' "$text"
    [[ $status -eq 42 && $text == *"$report"* ]]
}

if [[ $what == sanitizer || $what == all ]]; then
    check "memcheck-fault" find_fault memcheck outside_global "Invalid __global__ write"
    check "racecheck-fault" find_fault racecheck race_warps "hazard"
    "$bundle/planted" table > "$out/planted.jsonl" && wc -l "$out/planted.jsonl"
    for tool in memcheck racecheck synccheck; do
        sanitize=(compute-sanitizer --tool "$tool" --error-exitcode 1)
        check "$tool-kat" "${sanitize[@]}" "$bundle/ctru" kat check --engine gpu \
            --chunk 32 --slots 2 "${records[@]}"
        for test in machine kernels paper_kernels paper_kem; do
            check "$tool-$test" "${sanitize[@]}" "$bundle/$test" --test-threads 1
        done
    done
fi
if [[ $what == bench || $what == all ]]; then
    "$bundle/ctru-research" kernels --json "$out/kernels.jsonl" > "$out/kernels.txt" \
        && wc -l "$out/kernels.jsonl"
    "$bundle/ctru" bench --engine gpu --batch 1048576 --seconds 2 --json > "$out/engine.jsonl"
    wc -l "$out/engine.jsonl"
    if command -v nvcc > /dev/null; then
        research/bench/cuda/run.sh "$bundle/measure" > "$out/own-kernels.jsonl" \
            && wc -l "$out/own-kernels.jsonl"
    fi
fi
if [[ $what == gpus || $what == all ]]; then
    "$bundle/ctru-research" gpus --json "$out/gpus.jsonl" > "$out/gpus.txt" && cat "$out/gpus.txt"
fi
if [[ $what == paper || $what == all ]]; then
    "$bundle/ctru-research" paper --json "$out/h200-paper.jsonl" > "$out/paper.txt" || failed=1
    wc -l "$out/h200-paper.jsonl"
fi
if [[ $what == lab || $what == all ]]; then
    check reductions_kernels "$bundle/reductions_kernels" --test-threads 2
    # Prints how many results of each reducer are right.
    check reductions_every_input "$bundle/reductions_every_input" --nocapture
    for bench in reductions ntt; do
        "$bundle/ctru-research" lab "$bench" --engine gpu --json "$out/lab-$bench.jsonl" \
            > "$out/lab-$bench.txt"
        "$bundle/ctru-research" lab "$bench" --engine cpu --json "$out/lab-$bench-cpu.jsonl" \
            > "$out/lab-$bench-cpu.txt"
        wc -l "$out/lab-$bench.jsonl" "$out/lab-$bench-cpu.jsonl"
    done
fi
exit $failed

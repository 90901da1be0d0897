#!/usr/bin/env bash
# Compares the scan and the matrix product of examples/own-kernel with programs in CUDA C++, on a
# machine with an NVIDIA GPU and nvcc. The programs take turns.
#
#   research/bench/cuda/run.sh MEASURE [ROUNDS]
#
# MEASURE is the program `measure` of examples/own-kernel. Prints JSON Lines: the GPU, and then one
# line for each run of a program.
set -euo pipefail
measure=$(realpath "$1")
rounds=${2:-5}
cd "$(dirname "$0")"
build=$(mktemp -d)
trap 'rm -r "$build"' EXIT
for program in scan product; do
    nvcc -O3 -std=c++17 -arch=native -o "$build/$program" "$program.cu"
done
gpu=$(nvidia-smi --query-gpu=name,driver_version,clocks.max.sm --format=csv,noheader -i 0)
nvcc=$(nvcc --version | sed -n 's/.*release [^,]*, V//p')
echo "{\"gpu\": \"$gpu\", \"nvcc\": \"$nvcc\", \"rounds\": $rounds}"
for ((round = 0; round < rounds; round++)); do
    for program in scan product; do
        "$measure" "$program"
        "$build/$program"
    done
done

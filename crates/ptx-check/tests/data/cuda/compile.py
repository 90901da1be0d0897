"""Makes PTX of the CUDA sources beside this file, with no GPU.

pip install nvidia-cuda-nvrtc==13.5.37 nvidia-cuda-runtime==13.5.37
"""

import ctypes
import pathlib
import re
import site

here = pathlib.Path(__file__).parent
toolkit = pathlib.Path(site.getsitepackages()[0], "nvidia", "cu13")
nvrtc = ctypes.CDLL(toolkit / "lib" / "libnvrtc.so.13")

for source in here.glob("*.cu"):
    program = ctypes.c_void_p()
    text, name = source.read_bytes(), source.name.encode()
    assert nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, name, 0, None, None) == 0
    include = b"-I" + bytes(toolkit / "include")
    options = [b"-arch=compute_80", b"-lineinfo", b"-device-int128", include]
    status = nvrtc.nvrtcCompileProgram(
        program, len(options), (ctypes.c_char_p * len(options))(*options)
    )
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    assert status == 0, log.value.decode()
    assert nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
    ptx = ctypes.create_string_buffer(size.value)
    assert nvrtc.nvrtcGetPTX(program, ptx) == 0
    # Names of files without folders.
    text = re.sub(rb'(\.file\s+\d+ ").*/', rb'\1', ptx.value)
    source.with_suffix(".ptx").write_bytes(text)

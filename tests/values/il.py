"""OpenCL C as SPIR-V, by clang and llvm-spirv: what programs are made of that come with an intermediate language."""
import os
import shutil
import subprocess


def tools():
    """clang and llvm-spirv of one version; None."""
    for version in range(15, 31):
        both = [shutil.which(f"{name}-{version}") for name in ("clang", "llvm-spirv")]
        if all(both):
            return both
    return None


def make(source, target, *options):
    """As it is written, with lines. The text is clang's standard input, which has no name."""
    clang, translator = tools()
    with open(source, "rb") as text, open(target + ".bc", "wb") as bitcode:
        subprocess.run([clang, "-x", "cl", "-", "-c", "-o", "-", "-emit-llvm", "-target", "spir64-unknown-unknown", "-O1", "-Xclang", "-disable-llvm-passes",
                        "-gline-tables-only", "-w", "-cl-std=CL1.2", "-Xclang", "-cl-ext=+all"], stdin=text, stdout=bitcode, check=True)
    subprocess.run([translator, *options, target + ".bc", "-o", target], check=True)


def make_all(program, folder):
    """FOLDER/NAME.spv of each NAME.cl that the program writes there."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    subprocess.run([program, "texts", folder], check=True)
    for name in sorted(os.listdir(folder)):
        make(os.path.join(folder, name), os.path.join(folder, name[:-len(".cl")] + ".spv"))
    return folder

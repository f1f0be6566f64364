from pathlib import Path

from irscope.jobs.bisect.compiling import source_files, source_state


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / f"{name.replace('.', '/')}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_imported_files_of_the_user_belong_to_the_state(tmp_path):
    write(
        tmp_path, kernel="from helpers import scale\nimport os, torch\n", helpers="x = 1\n", other="y = 1\n"
    )
    assert [path.name for path in source_files(tmp_path / "kernel.py")] == ["kernel.py", "helpers.py"]
    before = source_state(tmp_path / "kernel.py")
    (tmp_path / "other.py").write_text("y = 2\n")
    assert source_state(tmp_path / "kernel.py") == before
    (tmp_path / "helpers.py").write_text("x = 2\n")
    assert source_state(tmp_path / "kernel.py") != before


def test_relative_imports_and_packages_are_followed(tmp_path):
    write(
        tmp_path,
        **{
            "pkg.__init__": "",
            "pkg.kernels.__init__": "",
            "pkg.kernels.matmul": "from ..ops import f\nfrom . import tiles\n",
            "pkg.kernels.tiles": "import pkg.constants\n",
            "pkg.ops": "",
            "pkg.constants": "",
        },
    )
    found = {path.stem for path in source_files(tmp_path / "pkg" / "kernels" / "matmul.py")}
    assert {"matmul", "ops", "tiles", "constants"} <= found


def test_the_state_does_not_depend_on_the_folder_below_a_root(tmp_path):
    folders = [write(tmp_path / name, kernel="from helpers import f\n", helpers="") for name in "ab"]
    a, b = (source_state(folder / "kernel.py", folder) for folder in folders)
    assert a == b


def test_files_that_are_no_python_have_a_state(tmp_path):
    path = tmp_path / "kernel.py"
    path.write_bytes(b"\x00 def (")
    assert source_state(path) == source_state(path)

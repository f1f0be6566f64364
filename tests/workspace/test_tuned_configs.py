"""irscope pick --export: files that serving systems load again, with their names and keys."""

from __future__ import annotations

import json
import runpy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.vllm_choices import read_files
from irscope.cli.main import main
from irscope.document.terminal.document_text import text_lines
from irscope.document.tuned_files import export_content, own_files, serving_text
from irscope.estimating.constants import DEVICES
from irscope.estimating.terms import Estimate
from irscope.model import Argument, Launch, UserError
from irscope.workspace import Choice, Pick, Workspace
from irscope.workspace.picking import picks
from irscope.workspace.problem_sizes import requested_problem
from irscope.workspace.tuned_configs import SGLANG, VLLM, Export, tuned_files

MATMUL = Path(__file__).parents[2] / "samples" / "matmul.py"
SIGNATURE = "*fp8e4nv:16, *fp8e4nv:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1"
BLOCKS = ["--config", "BLOCK_M=16,64,128", "--config", "BLOCK_N=128", "--config", "BLOCK_K=64"]
OPTIONS = ["--config", "GROUP_M=8", "--config", "num_warps=4", "--config", "num_stages=2,4"]
TILES = {
    "BLOCK_SIZE_M": "BLOCK_M",
    "BLOCK_SIZE_N": "BLOCK_N",
    "BLOCK_SIZE_K": "BLOCK_K",
    "GROUP_SIZE_M": "GROUP_M",
}
MAPPED = ", ".join(f"{key}={name}" for key, name in TILES.items())
EXPERTS = "E=8, N=64, dtype=fp8_w8a8"
PRODUCT = f"N=N, K=K, dtype=fp8_w8a8, block_shape=[128, 128], {MAPPED}"


def launch(columns: int, depth: int) -> str:
    return (
        f"grid=(cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), M=64, N={columns}, K={depth}, "
        "stride_am=K, stride_bk=N, stride_cm=N"
    )


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Path:
    """Six configs of the matmul for an H100, and for an MI300X."""
    path = tmp_path_factory.mktemp("tuned") / "matmul.irscope"
    targets = ["--target", "cuda:90", "--target", "hip:gfx942"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        command = ["compile", str(MATMUL), "--signature", SIGNATURE, *BLOCKS, *OPTIONS, *targets]
        assert main([*command, "-o", str(path)]) == 0
    return path


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("IRSCOPE_CACHE", str(tmp_path / "cache"))


def export(capture: Path, folder: Path, form: str, keys: str, *more: str) -> int:
    command = ["pick", str(capture), "--export", form, "--device", "H200", "-o", str(folder)]
    return main([*command, *(["--keys", keys] if keys else []), *more])


def load_as_vllm(path: Path, rows: int) -> dict[str, Any]:
    """Read a file as vLLM does: keys are numbers of rows, and the nearest one decides."""
    configs = json.loads(path.read_text())
    configs.pop("triton_version", None)
    by_rows = {int(key): config for key, config in configs.items()}
    nearest: dict[str, Any] = by_rows[min(by_rows, key=lambda known: abs(known - rows))]
    return nearest


def test_vllm_loads_the_config_that_the_pick_puts_first(capture: Path, tmp_path: Path):
    sizes = ["--launch", launch(4096, 7168), "--vary", "M=16,4096"]
    assert export(capture, tmp_path / "out", "vllm", PRODUCT, *sizes) == 0
    (path,) = (tmp_path / "out").iterdir()
    assert path.name == "N=4096,K=7168,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128,128].json"
    chosen = []
    for rows, asked in ((16, 1), (4096, 5000)):
        text = launch(4096, 7168).replace("M=64", f"M={rows}")
        with Workspace(capture) as workspace:
            (pick,) = picks(workspace, target="cuda:90", launches=[text], device="H200")
        settings = pick.choices[0].variant.settings
        expected = {key: settings[name] for key, name in TILES.items()}
        expected |= {name: settings[name] for name in ("num_warps", "num_stages")}
        assert load_as_vllm(path, asked) == expected
        chosen.append(expected)
    assert chosen[0]["BLOCK_SIZE_M"] < chosen[1]["BLOCK_SIZE_M"]


def test_launches_of_the_same_file_and_size_are_summed(capture: Path, tmp_path: Path):
    keys = f"E=8, N=1024, dtype=fp8_w8a8, {MAPPED}"
    launches = [launch(2048, 4096), launch(4096, 1024)]
    both = [word for text in launches for word in ("--launch", text)]
    assert export(capture, tmp_path, "vllm", keys, *both, "--vary", "M=256") == 0
    config = json.loads((tmp_path / "E=8,N=1024,device_name=NVIDIA_H200,dtype=fp8_w8a8.json").read_text())
    times: dict[tuple[object, ...], float] = {}
    with Workspace(capture) as workspace:
        for text in launches:
            (pick,) = picks(
                workspace, target="cuda:90", launches=[text.replace("M=64", "M=256")], device="H200"
            )
            for choice in pick.choices:
                assert choice.estimate
                key = tuple(choice.variant.settings.items())
                times[key] = times.get(key, 0.0) + choice.estimate.microseconds
    best = dict(min(times, key=times.__getitem__))
    assert config == {
        "256": {
            **{key: best[name] for key, name in TILES.items()},
            "num_warps": 4,
            "num_stages": best["num_stages"],
        }
    }


def test_sglang_has_its_own_folder_and_spelling(capture: Path, tmp_path: Path):
    moe = f"E=8, N=N // 2, dtype=fp8_w8a8, block_shape=[128, 128], down=1, {MAPPED}"
    assert export(capture, tmp_path, "sglang", moe, "--launch", launch(4096, 7168)) == 0
    (version,) = (tmp_path / "configs").iterdir()
    assert version.name.startswith("triton_3_") and all(
        part.isdigit() for part in version.name.split("_")[1:]
    )
    (path,) = version.iterdir()
    name = "E=8,N=2048,device_name=NVIDIA_H200,dtype=fp8_w8a8,block_shape=[128, 128]_down.json"
    assert path.name == name and list(json.loads(path.read_text())) == ["64"]
    keys = PRODUCT.replace("[128, 128]", "[128, 64]")
    assert export(capture, tmp_path / "product", "sglang", keys, "--launch", launch(4096, 7168)) == 0
    (path,) = (tmp_path / "product").iterdir()
    assert path.name.endswith("dtype=fp8_w8a8,block_shape=[128, 64].json")


@pytest.mark.parametrize(
    ("system", "blocks", "needs"),
    [
        ("vllm", "[128, 32]", "no config with an estimate has a BLOCK_SIZE_K that divides 32"),
        ("sglang", "[128, 128]", "no config with an estimate has a BLOCK_SIZE_K that equals 128"),
    ],
)
def test_no_config_is_written_that_skips_scales(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], system: str, blocks: str, needs: str
):
    """Both kernels load one scale per step; sglang's steps over BLOCK_SIZE_K // block of them."""
    keys = PRODUCT.replace("[128, 128]", blocks)
    assert export(capture, tmp_path / "out", system, keys, "--launch", launch(4096, 7168)) == 2
    assert needs in capsys.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("keys", "problem"),
    [
        (EXPERTS, "vllm's files need BLOCK_SIZE_M"),
        ("BLOCK_SIZE_M=BLOCK_M", "say what it is for"),
        (f"{EXPERTS}, {MAPPED.replace('BLOCK_SIZE_M=BLOCK_M', 'BLOCK_SIZE_M=64')}", "differ in BLOCK_M"),
        (f"E=8, N=64, tile=64, {MAPPED}", "vllm has no key 'tile'"),
        (f"E=8, N=64, down=1, {MAPPED}", "vllm has no key 'down'"),
        (f"E=8, N=64, dtype=fp9, {MAPPED}", "dtype=fp9"),
        (
            f"E=8, N=64, {MAPPED}",
            "no dtype is wrong for the tensors of matmul_kernel, fp16, fp8e4nv",
        ),
        (f"N=N, K=K, dtype=fp8_w8a8, {MAPPED}", "block_shape"),
        (f"{EXPERTS}, device_name=../../x, {MAPPED}", "device_name=../../x"),
        (f"E=experts, N=64, {MAPPED}", "'experts' in 'experts' has no value"),
        (f"{EXPERTS}, M=M / 2 - 64, {MAPPED}", "not a whole number"),
        ("E=8, E=9", "'E' has two values"),
    ],
)
def test_what_the_system_needs_and_does_not_get_is_an_error(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], keys: str, problem: str
):
    if problem.startswith("vllm's files"):  # the names are free for a key, but not all of them are there
        keys += ", BLOCK_SIZE_N=BLOCK_M, BLOCK_SIZE_K=BLOCK_N"
    assert export(capture, tmp_path / "out", "vllm", keys, "--launch", launch(4096, 7168)) == 2
    error = capsys.readouterr().err
    assert problem in error and len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_name_of_a_launch_that_nothing_uses_is_an_error(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    """Values under a misspelled name would be left out of the estimate without a word."""
    typo = launch(4096, 7168).replace("stride_bk", "strid_bk") + ", stride_bk=N"
    for command in (["pick", "--target", "cuda:90"], ["table", "--devices", "H200"]):
        assert main([*command[:1], str(capture), *command[1:], "--launch", typo]) == 2
        error = capsys.readouterr().err
        assert error == (
            "irscope: --launch: no parameter or expression uses 'strid_bk'; did you mean stride_bk?\n"
        )
    assert export(capture, tmp_path / "out", "vllm", PRODUCT, "--launch", typo) == 2
    assert "'strid_bk'" in capsys.readouterr().err
    # --keys and options of the compiler are uses.
    used = launch(4096, 7168) + ", tokens=32, num_warps=4"
    assert export(capture, tmp_path / "out", "vllm", f"{PRODUCT}, M=tokens * 2", "--launch", used) == 0
    (path,) = (tmp_path / "out").iterdir()
    assert list(json.loads(path.read_text())) == ["64"]


STATE = "headdim=dim, dstate=dstate, cache_dtype=float16, M=N * nheads"
STATE_LAUNCH = (
    "grid=(cdiv(dim, BLOCK_SIZE_M), N, nheads), N=1, nheads=128, dim=64, dstate=128, heads_per_group=16, "
    "state=[N, nheads, dim, dstate], x=[N, nheads, dim], dt=[N, nheads, dim], decay=[nheads, dim, dstate], "
    "b=[N, 8, dstate], c=[N, 8, dstate], out=[N, nheads, dim]"
)


@pytest.fixture(scope="module")
def state_capture(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Path:
    """Six configs of a Mamba layer's state update, for an H100 and an A100."""
    path = tmp_path_factory.mktemp("state") / "state.irscope"
    types = (
        "*fp16:16, *bf16:16, *bf16:16, *fp32:16, *bf16:16, *bf16:16, *bf16:16, i32, i32:16, i32:16, i32:16"
    )
    kernel = str(Path(__file__).with_name("state_update_kernel.py"))
    words = ["compile", kernel, "--signature", f"{types}, i32:16", "--const", "BLOCK_SIZE_DSTATE=128"]
    words += ["--target", "cuda:90", "--target", "cuda:80", "-o", str(path)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        assert main([*words, "--config", "BLOCK_SIZE_M=4,16,64", "--config", "num_warps=1,4"]) == 0
    return path


def test_vllm_loads_the_configs_of_mamba_s_state_update(state_capture: Path, tmp_path: Path):
    sizes = ["--launch", STATE_LAUNCH, "--vary", "N=1,512"]
    assert export(state_capture, tmp_path / "out", "vllm", STATE, *sizes) == 0
    (path,) = (tmp_path / "out").iterdir()
    assert path.name == "headdim=64,dstate=128,device_name=NVIDIA_H200,cache_dtype=float16.json"
    for sequences, nearest in ((1, 1), (500, 512)):
        text = STATE_LAUNCH.replace("N=1,", f"N={nearest},")
        with Workspace(state_capture) as workspace:
            (pick,) = picks(workspace, target="cuda:90", launches=[text], device="H200")
        settings = pick.choices[0].variant.settings
        expected = {name: settings[name] for name in ("BLOCK_SIZE_M", "num_warps")}
        assert load_as_vllm(path, sequences * 128) == expected
    assert export(state_capture, tmp_path / "a100", "vllm", STATE, *sizes, "--device", "A100") == 0
    (path,) = (tmp_path / "a100").iterdir()
    # That loader replaces hyphens, unlike the one of products.
    assert DEVICES["A100"].driver_name.startswith("NVIDIA A100-") and "device_name=NVIDIA_A100_" in path.name


@pytest.mark.parametrize(
    ("system", "keys", "problem"),
    [
        (
            "sglang",
            STATE,
            "say what it is for: E=..., N=... for a fused MoE product, N=..., K=... for a block",
        ),
        ("vllm", f"{STATE}, dtype=fp8_w8a8", "vllm has no key 'dtype' for a Mamba state update: headdim, "),
        ("vllm", f"{STATE}, num_stages=3", "vllm has no key 'num_stages' for a Mamba state update"),
        ("vllm", STATE.replace("float16", "bfloat16"), "one of float16, float32"),
        ("vllm", "headdim=dim, cache_dtype=float16", "headdim=..., dstate=... for a Mamba state update"),
    ],
)
def test_what_the_file_of_a_state_update_cannot_say_is_an_error(
    state_capture: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    system: str,
    keys: str,
    problem: str,
):
    assert export(state_capture, tmp_path / "out", system, keys, "--launch", STATE_LAUNCH) == 2
    error = capsys.readouterr().err
    assert problem in error and len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_nothing_is_replaced_without_force(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    arguments = (tmp_path, "vllm", PRODUCT, "--launch", launch(4096, 7168))
    assert export(capture, *arguments) == 0
    (path,) = (path for path in tmp_path.iterdir() if path.suffix == ".json")
    path.write_text("mine")
    assert export(capture, *arguments) == 2 and path.read_text() == "mine"
    assert "exists" in capsys.readouterr().err
    assert export(capture, *arguments, "--force") == 0 and "BLOCK_SIZE_M" in path.read_text()


@pytest.mark.parametrize(
    ("form", "keys", "there", "problem"),
    [
        ("vllm", PRODUCT.replace("BLOCK_M", "BLOK_M"), "", "'BLOK_M' in 'BLOK_M' has no value"),
        ("vllm", f"E=8, N=64, dtype=fp9, {MAPPED}", "", "dtype=fp9"),
        ("vllm", "N=N, K=K, dtype=fp8_w8a8, block_shape=[128, 128]", "", "vllm's files need BLOCK_SIZE_M"),
        ("vllm", PRODUCT, "out", "is not a folder; choose another name with -o"),
        (
            "vllm",
            PRODUCT,
            "out/N=4096,K=7168,device_name={gpu},dtype=fp8_w8a8,block_shape=[128,128].json",
            "exists",
        ),
        ("json", "", "out/matmul_kernel_{gpu}.json", "exists"),
        ("python", "", "out/matmul_kernel_{gpu}.py", "exists"),
    ],
)
def test_what_is_wrong_is_said_before_anything_is_compiled(
    capture: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    form: str,
    keys: str,
    there: str,
    problem: str,
):
    """An A100 needs other code than the capture has; nobody waits for it only to read of a typo."""
    gpu = DEVICES["A100"].driver_name.replace(" ", "_")
    if there:
        gpu = gpu if form == "vllm" else gpu.replace("-", "_")
        path = tmp_path / there.format(gpu=gpu)
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    more = ("--launch", launch(4096, 7168), "--device", "A100", "--vary", "M=16,64", "--trust")
    assert export(capture, tmp_path / "out", form, keys, *more) == 2
    error = capsys.readouterr().err
    assert problem in error and len(error.splitlines()) == 1
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("arguments", [["--keys", "E=8"], ["--vary", "M=1"]])
def test_options_of_an_export_need_one(
    capture: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]
):
    assert main(["pick", str(capture), *arguments]) == 2
    assert "--export" in capsys.readouterr().err


def test_python_and_json_have_the_kernel_s_own_names(capture: Path, tmp_path: Path):
    sizes = ["--launch", launch(4096, 7168), "--vary", "M=16,4096", "--top", "2"]
    for form in ("python", "json"):
        assert export(capture, tmp_path, form, "", *sizes) == 0
    module = runpy.run_path(str(tmp_path / "matmul_kernel_NVIDIA_H200.py"))
    document = json.loads((tmp_path / "matmul_kernel_NVIDIA_H200.json").read_text())
    assert module["KEY"] == ["M", "N", "K"] and document["schema"] == "irscope.tuned/1"
    offered = [{**c.kwargs, "num_warps": c.num_warps, "num_stages": c.num_stages} for c in module["CONFIGS"]]
    listed = [config["values"] for problem in document["problems"] for config in problem["configs"]]
    assert len(listed) == 4 and all(values in offered for values in listed) and len(offered) <= 4
    first = document["problems"][0]
    assert first["arguments"]["M"] == 16 and first["confidence"]["ahead"] >= 1
    times = [config["estimate_us"] for config in first["configs"]]
    assert times[0] == min(times)


@pytest.mark.parametrize(
    ("types", "right", "wrong"),
    [
        ("*fp16 *fp16 *fp16", ("",), ("fp8_w8a8", "int8_w8a8", "int8_w8a16", "float32")),
        ("*fp8e4b8 *fp8e4b8 *bf16 *fp32", ("fp8_w8a8",), ("", "int8_w8a8", "float32")),
        ("tensordesc<fp8e4nv[64,32]> tensordesc<fp8e4nv[64,32]> *bf16", ("fp8_w8a8",), ("", "int8_w8a8")),
        ("*i8 *i8 *bf16 *fp32 *i32", ("int8_w8a8", ""), ("fp8_w8a8", "float32")),
        ("*bf16 *i8 *bf16 *fp32 *i32", ("int8_w8a16",), ("int8_w8a8", "fp8_w8a8", "float32")),
        ("*bf16 *u8 *bf16 *bf16", ("int4_w4a16", "int8_w8a16", "mxfp4_w4a16"), ("fp8_w8a8",)),
        ("*bf16 *bf16 *bf16 *i32 *i32", ("", "mxfp4_w4a4"), ("int4_w4a16", "int4_w4a8", "int8_w8a16")),
        ("*fp8e4nv *u8 *bf16 *fp32 *i32", ("int4_w4a8",), ("", "fp8_w8a8")),
        ("*i8 *u8 *bf16 *i64", ("int4_w4a8",), ("fp8_w8a8", "float32")),
        ("*i8 *i8 *bf16 *fp32", ("int4_w4a8", "int8_w8a8"), ("fp8_w8a8",)),
        ("*bf16 *bf16 *bf16 *fp32", ("", "mxfp4_w4a16"), ("int4_w4a16", "int4_w4a8")),
        ("*u8 *u8 *bf16 *u8", ("mxfp4_w4a4",), ("float32",)),
        ("*fp32 *fp32 *fp32 *i32", ("float32",), ("", "fp8_w8a8", "int8_w8a16", "int4_w4a16", "mxfp4_w4a4")),
    ],
)
def test_the_dtype_is_that_of_the_kernel_s_tensors(
    capture: Path, types: str, right: Sequence[str], wrong: Sequence[str]
):
    arguments = tuple(Argument(f"x{number}", type_, "D") for number, type_ in enumerate(types.split()))
    with Workspace(capture) as workspace:
        export = amd_export(workspace, "k", arguments)
        for dtype in right:
            (file,) = tuned_files(export, VLLM, {"E": "8", "N": "64", "dtype": dtype, **TILES})
            assert ("dtype=" in file.path) == bool(dtype)
        for dtype in wrong:
            with pytest.raises(UserError, match=f"{f'dtype={dtype}' if dtype else 'no dtype'} is wrong"):
                tuned_files(export, VLLM, {"E": "8", "N": "64", "dtype": dtype, **TILES})


def amd_export(workspace: Workspace, kernel: str, tensors: tuple[Argument, ...] = ()) -> Export:
    """Return an export for an MI300X with made-up times: the configs with more stages are faster.

    `tensors` replace those of the kernel.
    """
    variants = workspace.select(None, "hip:gfx942")
    if tensors:
        arguments = (*tensors, *variants[0].specialization[3:])
        variants = [replace(variant, specialization=arguments) for variant in variants]
    launched = Launch((1, 1, 1), (("M", "64"), ("N", "4096"), ("K", "7168")))
    choices = tuple(choice_of(variant, launched) for variant in variants)
    problem = requested_problem({variant.id: launched for variant in variants}, variants)
    return Export(DEVICES["MI300X"], ((None, Pick(replace(problem, kernel=kernel), choices)),))


def choice_of(variant: Any, launched: Launch) -> Choice:
    estimate = Estimate(10.0 - variant.settings["num_stages"], "memory", (), "MI300X")
    return Choice(variant, "", launched, estimate, None, "")


def test_configs_for_amd_have_the_options_of_its_compiler(capture: Path):
    keys = {"N": "N", "K": "K", "dtype": "fp8_w8a8", "block_shape": "[128, 128]", **TILES}
    with Workspace(capture) as workspace:
        export = amd_export(workspace, "matmul_kernel")
        (file,) = tuned_files(export, VLLM, keys)
        metadata = export.picks[0][1].choices[0].variant.metadata
        assert "device_name=AMD_Instinct_MI300X," in file.path
        config = json.loads(serving_text(file))["64"]
        assert config["num_stages"] == 4
        for name in ("waves_per_eu", "matrix_instr_nonkdim", "kpack"):
            assert config[name] == metadata[name]
        (file,) = tuned_files(export, SGLANG, keys | {"waves_per_eu": "2", "block_shape": "[128, 64]"})
        assert dict(file.sizes[0].config)["waves_per_eu"] == 2


def test_an_export_says_what_its_times_depend_on(capture: Path):
    keys = {"N": "N", "K": "K", "dtype": "fp8_w8a8", "block_shape": "[128, 128]", **TILES}
    with Workspace(capture) as workspace:
        (_, pick), *_ = amd_export(workspace, "k").picks
        choices = []
        for choice in pick.choices:
            assert choice.estimate
            doubtful = replace(choice.estimate, depends=("padded (line 9)",), limits=("?: depends",))
            choices.append(replace(choice, estimate=doubtful))
        export = Export(DEVICES["MI300X"], ((None, replace(pick, choices=tuple(choices))),))
        files = tuned_files(export, VLLM, keys)
    lines = list(text_lines(export_content(files, ["x.json"])))
    assert any(" 6? " in line for line in lines) and "?: depends" in lines


@pytest.mark.parametrize("kernel", ["../../etc/x\n", "", "k" * 4000, "\u202e/k"])
def test_names_of_kernels_are_safe_in_paths(capture: Path, kernel: str):
    with Workspace(capture) as workspace:
        ((name, text),) = own_files(amd_export(workspace, kernel), "python").items()
    assert name.removesuffix(".py").isidentifier() and len(name) < 120 and name.isascii()
    compile(text, name, "exec")
    assert "etc/x\n" not in text and "\u202e" not in text


def order(names: Sequence[str]) -> list[str]:
    return [name for name in names if name.isupper()]


def test_keys_are_in_the_order_of_the_systems_files(capture: Path):
    keys = {"E": "8", "N": "64", "dtype": "fp8_w8a8", "SPLIT_K": "1", **TILES}
    with Workspace(capture) as workspace:
        (file,) = tuned_files(amd_export(workspace, "k"), VLLM, keys)
    names = [name for name, _ in file.sizes[0].config]
    assert order(names) == ["BLOCK_SIZE_M", "BLOCK_SIZE_N", "BLOCK_SIZE_K", "GROUP_SIZE_M", "SPLIT_K"]
    assert names[5:7] == ["num_warps", "num_stages"]


def test_devices_are_called_as_in_the_names_of_vllm_s_files():
    files = read_files()  # fails for a name that irscope gives to no device
    assert len(files) >= 15 and len({file.rates.name for file in files}) >= 10
    assert all(len(choice.values) in (6, 9) for file in files for choice in file.choices)

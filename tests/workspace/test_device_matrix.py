"""irscope table --devices: one capture, compiled on demand for the targets of other devices."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irscope.cli.main import main
from irscope.cli.options import split_names
from irscope.estimating.constants import DEVICES, Fit, rates_of, write_fit
from irscope.estimating.counting.counts import LaunchCounts, count_launch
from irscope.model import Launch, Target, UserError, Variant
from irscope.targets import device_of, parse_target
from irscope.workspace import Workspace
from irscope.workspace.device_matrix import chosen_devices, device_matrices

MATMUL = Path(__file__).parents[2] / "samples" / "matmul.py"
SIGNATURE = "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16, i32:16, 1, i32:16, 1, i32:16, 1"
LAUNCH = (
    "grid=(cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), M=4096, N=4096, K=4096, "
    "stride_am=4096, stride_bk=4096, stride_cm=4096"
)
BLOCKS = ["--config", "BLOCK_M=64,128", "--config", "BLOCK_N=256", "--config", "BLOCK_K=64"]
OPTIONS = ["--config", "GROUP_M=8", "--config", "num_warps=8", "--config", "num_stages=4"]


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Path:
    """Two configs of the matmul; the larger one needs 147,456 bytes of shared memory on Ada."""
    path = tmp_path_factory.mktemp("devices") / "matmul.irscope"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        assert (
            main(["compile", str(MATMUL), "--signature", SIGNATURE, *BLOCKS, *OPTIONS, "-o", str(path)]) == 0
        )
    return path


def test_configs_on_devices_that_nobody_has(
    capture: Path, tmp_path: Path, triton_cache: Path, capsys: pytest.CaptureFixture[str]
):
    command = ["table", str(capture), "--devices", "H100,H200,L4,MI300X", "--launch", LAUNCH]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        patch.setenv("IRSCOPE_CACHE", str(tmp_path))
        assert main([*command, "--format", "json"]) == 0
        (matrix,) = json.loads(capsys.readouterr().out)
        made = {file: file.stat().st_mtime_ns for file in (tmp_path / "devices").iterdir()}
        patch.setattr("irscope.estimating.work.count_launch", None)
        assert main([*command, "--width", "120"]) == 0  # nothing is compiled or counted again
        text = capsys.readouterr().out
        assert main([*command, "--format", "json"]) == 0
        assert json.loads(capsys.readouterr().out) == [matrix]
        assert {file: file.stat().st_mtime_ns for file in (tmp_path / "devices").iterdir()} == made
    h100, h200, l4, mi300 = matrix["devices"]
    assert matrix["schema"] == "irscope.devices/1" and matrix["problem"].startswith("M=4096, N=4096")
    assert [config["BLOCK_M"] for config in matrix["configs"]] == [64, 128]
    assert all(cell["launchable"] for column in (h100, h200) for cell in column["cells"])
    # Both devices run the same machine code.
    assert [cell["variant"] for cell in h100["cells"]] == [cell["variant"] for cell in h200["cells"]]
    assert h200["cells"][1]["estimate_us"] < h100["cells"][1]["estimate_us"]
    small, large = l4["cells"]
    assert not large["launchable"] and "147,456 bytes of shared memory, limit 101,376" in large["problem"]
    assert l4["first"] == (0 if small["launchable"] else None)
    assert not any(cell["launchable"] for cell in mi300["cells"]), "64 KiB of LDS"
    assert "bytes of LDS, limit 65,536" in mi300["cells"][0]["problem"]
    assert "L4: #2: cannot launch: 147,456 bytes of shared memory" in text.replace("#4", "#2")
    with Workspace(capture) as workspace:
        assert {str(variant.target) for variant in workspace.variants} == {"cuda:90"}  # it is not changed
    assert "MI300X: no AMD GPU was measured" in " ".join(text.split())
    assert main([*command, "--columns", "registers"]) == 2
    assert "--columns: not with --devices" in capsys.readouterr().err


def test_devices_are_named_as_users_name_them(tmp_path: Path, capture: Path):
    """By irscope's names, as drivers and files of serving systems call them, or by a file of rates."""
    table = (
        '[R1]\nname = "NVIDIA R1"\ntarget = "cuda:90"\nmultiprocessors = 160\nclock = 2.0\nmemory = 13000\n'
        "l2 = 20000\nl2_mib = 128\ntensor = 4096\n"
    )
    rates = tmp_path / "r1.toml"
    rates.write_text(table)
    assert split_names(["H100, NVIDIA H200,NVIDIA_L40S,"]) == ["H100", "NVIDIA H200", "NVIDIA_L40S"]
    chosen = chosen_devices(["H100", "NVIDIA H200", "NVIDIA_L40S", str(rates)])
    assert list(chosen) == ["H100", "H200", "L40S", "NVIDIA R1"]
    assert (chosen["NVIDIA R1"].memory, chosen["NVIDIA R1"].l2_bytes) == (13000, 128 << 20)
    with Workspace(capture) as workspace:
        variant = workspace.variants[0]
        r1, h200 = (workspace.estimate(variant, LAUNCH, name) for name in (str(rates), "H200"))
        assert r1.device == "NVIDIA R1" and r1.microseconds < h200.microseconds
        with pytest.raises(UserError, match="cuda:90: not what NVIDIA A100 SXM 80GB runs"):
            workspace.estimate(variant, LAUNCH, "A100")
    for before, after in (("memory =", "memoir ="), ("clock = 2.0", "clock = 0"), ("l2 =", "l3 =")):
        rates.write_text(table.replace(before, after))
        with pytest.raises(UserError, match=r"r1\.toml: .*; write one table like those of devices\.toml"):
            chosen_devices([str(rates)])
    constants = tmp_path / "fit.json"
    write_fit(Fit("NVIDIA H200 SXM 141GB"), constants)
    with pytest.raises(UserError, match=r"fit\.json: the constants of one device"):
        chosen_devices([str(constants)])


def test_without_a_launch_a_cell_is_the_occupancy(capture: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["table", str(capture), "--devices", "H200"]) == 0
    text = capsys.readouterr().out
    assert "2 of 2" in text and "H200: not estimated: no launch is known" in text and "%" in text


def test_devices_of_a_target_are_estimated_by_one_count(capture: Path, monkeypatch: pytest.MonkeyPatch):
    """The matrix has the estimate that each device has by itself."""
    counted: list[Variant] = []

    def count(variant: Variant, launch: Launch, ptx: str) -> LaunchCounts:
        counted.append(variant)
        return count_launch(variant, launch, ptx)

    devices = chosen_devices(["H100", "H20", "GH200"])
    with Workspace(capture) as workspace:
        alone = [
            [workspace.estimate(variant, LAUNCH, name).microseconds for variant in workspace.variants]
            for name in devices
        ]
    monkeypatch.setattr("irscope.workspace.stage_contents.DerivedCache.read", lambda cache, key: None)
    monkeypatch.setattr("irscope.estimating.work.count_launch", count)
    with Workspace(capture) as workspace:
        (matrix,) = device_matrices(workspace, devices, launches=[LAUNCH])
        assert counted == list(workspace.variants)
    assert alone == [
        [cell.estimate.microseconds for cell in column.cells if cell and cell.estimate]
        for column in matrix.columns
    ]


def test_devices_have_sound_rates():
    assert len(DEVICES) >= 30 and list(chosen_devices(["all"])) == list(DEVICES)
    with pytest.raises(UserError, match="no device 'H300'"):
        chosen_devices(["H300"])
    for name, rates in DEVICES.items():
        target = parse_target(rates.target)
        assert device_of(target) is not None, name
        peak = rates.tensor * 2 * rates.multiprocessors * rates.clock / 1000
        assert 50 < peak < 2600 and 200 < rates.memory <= 8000 and rates.sources, name
    assert rates_of(Target("cuda", "90", 32)) is DEVICES["H100"]
    amd = [rates for rates in DEVICES.values() if rates.target.startswith("hip")]
    units = {(rates.target, rates.tensor, rates.l1_kib) for rates in amd}
    assert len(units) == len({rates.target for rates in amd}), "a replay is that of all devices of a target"


def test_a_report_has_a_section_about_other_devices(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    command = ["report", str(capture), "--devices", "H200,H20", "--launch", LAUNCH]
    assert main([*command, "-o", str(tmp_path / "report.html")]) == 0
    page = (tmp_path / "report.html").read_text()
    section = page.partition('<section id="devices">')[2].partition("</section>")[0]
    assert '<a href="#devices">Other devices</a>' in page
    assert "H20" in section and "2 of 2" in section and "first by estimate" in section
    capsys.readouterr()
    assert main([*command, "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert "## Other devices\n\n" in text and "| H200 | cuda:90 | 2 of 2 |" in text
    assert main(["report", str(capture), "-o", str(tmp_path / "plain.html")]) == 0
    assert "Other devices" not in (tmp_path / "plain.html").read_text()
    assert main([*command, "--slides", "-o", str(tmp_path / "slides.html")]) == 2

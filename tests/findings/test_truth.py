"""Facts equal the report of a real H200's driver (Triton 3.6.0)."""

import csv
import json
from concurrent.futures import ProcessPoolExecutor

import pytest

from irscope.facts.occupancy import BlockUse, occupancy
from irscope.targets import device_of, parse_target
from tests.findings.builders import DATA, FACTS

# ptxas of another Triton may give other registers; all else must equal the driver's answer.
OF_ONE_TRITON = {"n_regs"}


def test_occupancy_equals_the_drivers():
    device = device_of(parse_target("cuda:90"))
    with (FACTS / "truth_occupancy.csv").open() as file:
        rows = [{name: int(value) for name, value in row.items()} for row in csv.DictReader(file)]
    assert len(rows) == 182
    for row in rows:
        expected = row.pop("blocks_per_sm")
        assert occupancy(device, BlockUse(**row, barriers=1)).blocks == expected, row


@pytest.mark.slow
def test_facts_of_samples_equal_the_drivers():
    triton = pytest.importorskip("triton")
    from tests.truth.facts_truth import compare, compile_record

    records = json.loads((DATA / "truth_sample.json").read_text())
    with ProcessPoolExecutor(2) as pool:
        outcomes = list(pool.map(compile_record, [FACTS / "kernels.py"] * len(records), records))
    assert sum(bool(record["error"]) for record in records) == 2
    for record, outcome in zip(records, outcomes, strict=True):
        same_triton = triton.__version__ == record["triton"]
        for field, (driver, ours) in compare(record, outcome).items():
            if same_triton or field not in OF_ONE_TRITON:
                assert ours == driver, (record["kernel"], record["config"], field)

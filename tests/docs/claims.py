"""Factual claims of README.md and docs/, each with a check that runs the program or compiles.

    python -m tests.docs.claims          # prints the table; exits with 1 if a claim is false or was removed

named_things.py checks what every page names: commands, options, rules, files, schemas, attributes. A check
raises AssertionError if its claim is false. The checks of `SLOW` compile more than one small kernel.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tests.docs.claim_checks import (
    Check,
    Program,
    application_id,
    base_installs_neither,
    blobs,
    config_place,
    constants_of_estimates,
    default_target,
    default_timeout,
    dump_files,
    exits,
    explains_rules,
    findings_of_lint,
    formats_for_ci,
    has,
    imports_without,
    kernels_by_file,
    kernels_in_one_file,
    key_components,
    less_shared_memory,
    limit,
    lint_executes_nothing,
    missing_mask_in_a_launch,
    missing_mask_in_source,
    names_vary,
    no_python,
    not_overwritten,
    nothing_from_the_network,
    number_of_configs,
    number_of_dependencies,
    one_file_remains,
    other_names,
    passes_change_nothing,
    plugins_of_the_repository,
    prints_schema,
    programs_of_libraries,
    python_versions,
    redundant_configs,
    report_replaced,
    requirement,
    rule_codes,
    seconds_of_the_film,
    sorted_keys,
    supported_versions,
    unified_rows,
    user_version,
)
from tests.docs.named_things import all_problems
from tests.docs.pages import ROOT


@dataclass(frozen=True)
class Claim:
    """A sentence, or a part of one, of a page: `quote` is in `file` literally, apart from line ends."""

    file: str
    quote: str
    check: Check

    def verify(self, program: Program) -> None:
        """Raises AssertionError if the page does not say so any more, or it is false."""
        text = " ".join((ROOT / self.file).read_text(encoding="utf-8").split())
        assert self.quote in text, f"{self.file} does not say: {self.quote}"
        self.check(program)


COMPILE, CHECK, FORMAT = "docs/commands/compile.md", "docs/commands/check.md", "docs/capture-format.md"
OPEN = "import irscope\nfor v in irscope.open(CAPTURE).variants: v.kernel.name"
LIST = "from irscope.cli.main import main; main(['list', CAPTURE])"
PLUGIN = "import irscope.pytest_plugin"
LAUNCH = "grid=(cdiv(n, BLOCK_SIZE),), n=1048576"
DASK, PAGE = "compiling.cluster.cluster", "document.html.report_page"
PRUNE = "jobs.prune.worker_pool"
MARKDOWN, REPRODUCER = "document.markdown.reports", "jobs.reproduce.clean_process"

FAST = [
    Claim("README.md", "You need Python 3.10 or later", python_versions),
    Claim("README.md", "installs neither triton nor torch", base_installs_neither),
    Claim("README.md", "`irscope lint` and `irscope import` execute nothing", lint_executes_nothing),
    Claim("README.md", "Opening a capture executes nothing", imports_without(LIST, "triton", "torch")),
    Claim("docs/stability.md", "the newest four minor versions, now 3.6 to 3.9", supported_versions),
    Claim("docs/stability.md", "now 8.2.6 and later", lambda _: has(requirement("textual"), ">=8.2.6")),
    Claim("docs/stability.md", "torch 2.9 or later", lambda _: has(requirement("torch", "run"), ">=2.9")),
    Claim("docs/stability.md", "2 wrong use or unreadable input", exits(2, "list", "missing.irscope")),
    Claim("docs/commands/bisect.md", "releases 3.6.0, 3.7.1, 3.8.0 and 3.9.0", supported_versions),
    Claim(
        "docs/estimates.md", "there are 31 constants, each with a unit and a range", constants_of_estimates
    ),
    Claim(FORMAT, "SQLite 3 database with the application id `0x69727363`", application_id),
    Claim(FORMAT, "version of the format, currently 3", user_version),
    Claim(FORMAT, "contents by SHA-256, each one zstd frame; equal stages are stored once", blobs),
    Claim(FORMAT, "JSON columns have sorted keys", sorted_keys),
    Claim(FORMAT, "when it closes, one file remains", one_file_remains),
    Claim(COMPILE, "`cuda:90` (the default)", default_target),
    Claim(COMPILE, "Without either, an existing file is not overwritten", not_overwritten),
    Claim(COMPILE, "(default: 300)", default_timeout),
    Claim("docs/commands/why.md", "a key of about 40 components", key_components),
    Claim(
        "docs/commands/list.md",
        "Names contain only values that differ between the kernel's variants",
        names_vary,
    ),
    Claim(
        "docs/recipes.md",
        "also those that compile to identical machine code. The table marks them",
        redundant_configs,
    ),
    Claim(CHECK, "It is not evaluated as Python", no_python),
    Claim(CHECK, "`spills`, `spill_words`", other_names),
    Claim(
        CHECK,
        "The exit code is 1 if one does not hold",
        exits(1, "check", "CAPTURE", "--expect", "spills > 0"),
    ),
    Claim(
        CHECK,
        "2 if they match nothing",
        exits(2, "check", "CAPTURE", "--expect", "spills == 0", "--kernel", "no"),
    ),
    Claim(CHECK, "or the fact does not exist", exits(2, "check", "CAPTURE", "--expect", "speed == 0")),
    Claim(
        CHECK,
        "The plugin imports nothing of irscope until a test uses it",
        imports_without(PLUGIN, "triton", "textual", "rapidfuzz"),
    ),
    Claim("docs/python.md", "It needs neither a GPU nor Triton", imports_without(OPEN, "triton", "torch")),
    Claim(
        "docs/commands/explain.md",
        "For an unknown word, the exit code is 2",
        exits(2, "explain", "specialise", says="similar"),
    ),
    Claim(
        "docs/commands/explain.md",
        "`--format json` prints `irscope.explain/1`",
        prints_schema("irscope.explain/1", "explain", "swizzle"),
    ),
    Claim(
        "docs/commands/list.md",
        "`--format json` prints [irscope.list/1]",
        prints_schema("irscope.list/1", "list", "CAPTURE"),
    ),
    Claim(
        "docs/commands/why.md",
        "`--format json` prints [irscope.why/1]",
        prints_schema("irscope.why/1", "why", "CAPTURE", "#1", "#2"),
    ),
    Claim(
        "docs/commands/diff.md",
        "`--format json` prints [irscope.diff/2]",
        prints_schema("irscope.diff/2", "diff", "CAPTURE", "#1", "#3"),
    ),
    Claim("docs/commands/diff.md", "`--format unified` prints only the rows", unified_rows),
    Claim(
        "docs/commands/lint.md",
        "`--format json` prints [irscope.lint/1]",
        prints_schema("irscope.lint/1", "lint", "CAPTURE"),
    ),
    Claim(
        CHECK,
        "`--format json` prints [irscope.check/1]",
        prints_schema("irscope.check/1", "check", "CAPTURE", "--expect", "spills == 0"),
    ),
    Claim(
        "docs/commands/verdict.md",
        "`--format json` prints [irscope.verdict/1]",
        prints_schema("irscope.verdict/1", "verdict", "CAPTURE"),
    ),
    Claim(
        "docs/commands/pick.md",
        "`--format json` prints [irscope.pick/1]",
        prints_schema("irscope.pick/1", "pick", "CAPTURE", "--launch", LAUNCH),
    ),
    Claim(
        "docs/commands/bits.md",
        "`--format json` prints [irscope.bits/1]",
        prints_schema("irscope.bits/1", "bits", "CAPTURE", "--launch", LAUNCH),
    ),
    Claim("README.md", "a film of 25 seconds", seconds_of_the_film),
    Claim("docs/packaging.md", "ten packages (nine from Python 3.11 on)", number_of_dependencies),
    Claim("docs/plugins.md", "Two packages in this repository", plugins_of_the_repository),
    Claim("docs/samples.md", "three kernels in one file", kernels_in_one_file),
    Claim(
        "docs/lint.md", "Of 93 findings in 34 packages and repositories, 92 were correct", findings_of_lint
    ),
    Claim("docs/measured.md", "All stages are compared byte by byte", kernels_by_file),
    Claim("docs/measured.md", "39 of 45 programs of 17 libraries were whole", programs_of_libraries),
    Claim("docs/compare.md", "because the grid rounds up (mask-missing, IRS115)", missing_mask_in_source),
    Claim("docs/ci.md", "share four formats", formats_for_ci),
    Claim(FORMAT, "never more than 256 MiB", limit("store.encoding:MAX_BLOB_BYTES", 256 << 20)),
    Claim(FORMAT, "A stage has at most 8 MiB", limit("store.encoding:_ANY_BYTES", 8 << 20)),
    Claim(FORMAT, "at most 100,000 lines", limit("store.encoding:_ANY_LINES", 100_000)),
    Claim(FORMAT, "never more than 2,000,000", limit("store.encoding:_MAX_LINES", 2_000_000)),
    Claim(FORMAT, "kept whole up to 4 million characters", limit("store.encoding:MAX_TEXT", 4 << 20)),
    Claim("docs/tuning.md", "20 seconds after the last kernel", limit(f"{PRUNE}:_IDLE_SECONDS", 20)),
    Claim("docs/clusters.md", "waits five minutes for one", limit(f"{DASK}:NO_WORKER_SECONDS", 300)),
    Claim("docs/commands/tui.md", "for the last 100 captures", limit("tui.settings:_MAX_FILES", 100)),
    Claim("docs/commands/report.md", "one file of less than 5 MB", limit(f"{PAGE}:MAX_BYTES", 5_000_000)),
    Claim("docs/commands/report.md", "the 65,536 characters", limit(f"{MARKDOWN}:LIMIT", 65_536)),
    Claim("docs/commands/mcp.md", "at most 1,500 tokens", limit("mcp.answers:MOST_TOKENS", 1_500)),
    Claim(
        "docs/commands/reproduce.md",
        "for --minimize (default: 300)",
        limit(f"{REPRODUCER}:DEFAULT_SECONDS", 300),
    ),
    Claim("docs/lint.md", "`irscope explain NAME` prints a rule's summary", explains_rules),
    Claim("docs/lint.md", "Each rule has a name and a code", rule_codes),
    Claim("docs/commands/config.md", "where `IRSCOPE_CONFIG` points", config_place),
    Claim(
        "docs/commands/dump.md",
        "the kernel's Python source, Triton's metadata (`.json`), the log of ptxas",
        dump_files,
    ),
]
SLOW = [
    Claim("docs/compare.md", "(out-of-bounds, IRS207)", missing_mask_in_a_launch),
    Claim("docs/commands/report.md", "An existing file is replaced only with `--force`", report_replaced),
    Claim("docs/commands/report.md", "It loads nothing from the network", nothing_from_the_network),
    Claim("docs/samples.md", "`@triton.autotune` with ten configs", number_of_configs("matmul", 10)),
    Claim("README.md", "compiles an autotuned matmul under its 10 configs", number_of_configs("matmul", 10)),
    Claim("docs/samples.md", "five autotuned configs", number_of_configs("flash_attention", 5)),
    Claim("docs/samples.md", "takes 16 KiB less shared memory", less_shared_memory),
    Claim(COMPILE, "keeps each compiler pass, its time and the module after it", passes_change_nothing),
]


def print_table() -> int:
    """Checks every claim; 1 if one is false."""
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        program = Program(Path(folder))
        for claim in FAST + SLOW:
            try:
                claim.verify(program)
                result = "true"
            except AssertionError as error:
                failures += 1
                result = f"FALSE: {str(error).splitlines()[0][:200] if str(error) else 'the check failed'}"
            print(f"{claim.file:28} {claim.quote[:90]:90} {result}", flush=True)
    names = all_problems()
    print(*names, sep="\n", end="\n" if names else "")
    failures += len(names)
    print(f"{len(FAST + SLOW)} claims, and every name on every page: {failures} false")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(print_table())

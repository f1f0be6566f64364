"""The HTML report: its contents, its validity, and that text of a capture is never markup."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.document.html.facts_table import facts_table
from irscope.document.html.layout_svg import layout_svg
from irscope.document.html.markup import Html, element, joined
from irscope.document.html.pair_section import pair_section
from irscope.document.html.report_page import MIN_ROWS, Stages, fitting_rows
from irscope.document.report_content import capture_report
from irscope.model import Failure
from irscope.workspace import Grid, GridCell, Workspace
from tests.document.reports import HOSTILE, Outline, hostile, report, sweep
from tests.document.test_table import section


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("report")
    return report(sweep(folder / "sweep.irscope"), folder / "r.html").read_text()


@pytest.fixture(scope="module")
def nasty(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hostile")
    words = ("--pair", "#1", "#2", "--pair", "#1", "#3")
    return report(hostile(folder / "h.irscope"), folder / "r.html", *words).read_text()


def test_a_plain_string_is_escaped_and_markup_is_not() -> None:
    made = element("a", "<&>", Html("<b>"), href='"x', data_lines=3, open=True, hidden=False, title=None)
    assert made == '<a href="&quot;x" data-lines="3" open>&lt;&amp;&gt;<b></a>'
    assert element("p", made + " and more").startswith("<p>&lt;a"), "a sum is a plain string again"
    assert joined(["\u202e", Html("<br>")]) == "\\u202e<br>"


def test_the_page_is_well_formed_and_loads_nothing(page: str) -> None:
    outline = Outline(page)
    assert not outline.open
    for tag, attributes in outline.elements:
        assert not {"src", "style", "onclick", "srcset", "action"} & attributes.keys(), (tag, attributes)
        assert attributes.get("href", "#").startswith("#")
        assert tag not in ("link", "img", "iframe", "object", "base")
    policy = next(
        a["content"] for _, a in outline.elements if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.startswith("default-src 'none'; style-src 'sha256-") and "unsafe" not in policy


def test_every_link_has_a_target(page: str) -> None:
    elements = Outline(page).elements
    ids = {attributes["id"] for _, attributes in elements if "id" in attributes}
    links = [str(attributes["href"])[1:] for _, attributes in elements if "href" in attributes]
    lines = re.compile(r"(pair\d+-\w+)-[ab]\d+")
    missing = [to for to in links if to not in ids and not ((m := lines.fullmatch(to)) and m[1] in ids)]
    assert links and not missing


def test_failures_and_launch_problems_are_shown(page: str) -> None:
    assert "5 variants for cuda:90, 1 failed to compile, 1 cannot be launched" in page
    assert "failed: CompilationError: arange&#x27;s range must be a power of 2</span></summary>" in page
    assert ">cannot launch: 300,000 bytes of shared memory" in page
    assert page.count(">! failed<") == page.count(">! cannot launch<") == 1
    assert "at 13:39: &lt;b&gt;whole&lt;/b&gt;" in page
    assert page.count('class="problem"') == 2


def test_measured_times_are_shown_and_plotted(page: str) -> None:
    assert (
        '<td class="number best" data-v="0.25">0.25<b title="best among the variants that can launch">*</b>'
        in page
    )
    assert re.search(r"<figcaption>ms; lower is better</figcaption><svg", page)
    assert "#2 BLOCK_M=128,num_warps=4: 0.25</title>" in page


def test_the_payload_has_the_whole_stage(page: str) -> None:
    (packed,) = re.findall(r'<script type="text/plain" id="pair1-ttgir-data">([^<]*)<', page)
    data = json.loads(zlib.decompress(base64.b64decode(packed)))
    left = [row[1] for row in data["rows"] if row[1] is not None]
    right = [row[1] if len(row) == 2 else row[2] for row in data["rows"]]
    assert len(left) == len(data["origins"][0])
    assert len([text for text in right if text is not None]) == len(data["origins"][1])
    assert any("tt.load" in text or "async_copy" in text for text in left)
    assert all(chain < len(data["chains"]) for side in data["origins"] for chain in side)
    changed = [row for row in data["rows"] if len(row) == 5]
    assert changed, "what differs within lines is marked"
    for _, a, b, *spans in changed:
        for text, own in zip((a, b), spans, strict=True):
            assert all(0 <= start < end <= len(text) for start, end in own)


def test_without_javascript_the_first_rows_can_be_read(page: str) -> None:
    plain = re.findall(r"<noscript><pre[^>]*>(.*?)</pre>", page, re.S)
    assert any('class="removed"' in text and 'class="added"' in text for text in plain)


def test_duplicates_are_next_to_each_other() -> None:
    made = facts_table(section(), {1: [3]})
    assert re.findall(r'<tr id="v(\d)"', made) == ["1", "2", "5", "3", "4"]
    assert re.findall(r'<tr id="v(\d)" class="duplicate"', made) == ["5"]
    assert 'data-name="BLOCK=128,num_warps=8"><th scope="row" data-v="5">' in made
    assert '= <a href="#v2">#2</a>' in made and '<a href="#pair3">pair 3</a>' in made
    assert "1 of 5 variants are duplicates" in made


def test_values_farther_from_the_best_are_shaded_darker() -> None:
    shades = re.findall(r'class="number( heat\d| best)?" data-v="(\d+)"', facts_table(section(), {}))
    assert (" best", "64") in shades and (" heat2", "96") in shades and (" heat3", "2048") in shades
    assert ("", "300000") in shades, "what cannot launch is not ranked"


def test_what_is_constant_is_said_once_and_has_no_column() -> None:
    made = facts_table(section(), {})
    heading = re.findall(r"<th scope=\"col\"[^>]*>([^<]*)</th>", made)
    assert "Regs" in heading and "Threads" not in heading
    assert "Equal in all that compiled: Threads 128" in made
    assert "Equal in all that are shown and compiled: " in facts_table(section(), {}, whole=False)


def test_problems_are_listed_once_per_message() -> None:
    first, *_, last = section().variants
    failure = Failure("Error", "too large", "x" * 5000)
    failed = [replace(variant, failure=failure) for variant in (first, last)]
    made = facts_table(replace(section(), variants=failed), {})
    assert made.count("failed: Error: too large</span></summary>") == 1
    assert "1,000 more characters" in made


def test_a_pair_says_why_it_was_compiled_again_and_whether_that_was_worth_it(page: str) -> None:
    text = page[page.index('id="pair1"') :]
    titles = re.findall(r"<h3>([^<]*)</h3>", text)[:6]
    assert titles == [
        "Why it was compiled again", "What changed", "Was it worth it", "Python", "Main loop in time",
        "Layouts that differ",
    ]  # fmt: skip
    assert 'aria-label="timeline"' in text
    assert "<li>an iteration takes " in text
    assert '<h3>Was it worth it</h3><ul class="why"><li>' in text
    assert 'aria-label="layout of acc' in text, "the accumulator is drawn"


def test_functions_of_tritons_library_come_last_and_are_folded(page: str) -> None:
    source = page[page.index('id="pair1"') :]
    own, folded = source.split("Functions of Triton&#x27;s library: <code>cdiv</code>")[:2]
    assert "acc = " in re.sub("<[^>]*>", "", own) and "(x + div - 1)" not in re.sub("<[^>]*>", "", own)
    assert "(x + div - 1)" in re.sub("<[^>]*>", "", folded)


def test_charts_have_the_values_of_the_table(page: str) -> None:
    (packed,) = re.findall(r'id="charts1-data">([^<]*)<', page)
    data = json.loads(zlib.decompress(base64.b64decode(packed)))
    assert [variant[0] for variant in data["variants"]] == [1, 2, 3, 4, 5]
    assert data["axes"][0] == {"name": "BLOCK_M", "ticks": ["64", "96", "128", "256"], "of": [0, 2, 2, 3, 1]}
    (ms,) = (fact for fact in data["facts"] if fact["name"] == "ms")
    assert ms["values"] == [0.5, 0.25, 0.75, None, None] and ms["about"] == "ms; lower is better"
    assert ms["ticks"] == [
        [0.0, "0.0"],
        [0.2, "0.2"],
        [0.4, "0.4"],
        [0.6000000000000001, "0.6"],
        [0.8, "0.8"],
    ]


def test_a_page_leaves_out_the_largest_stages_first_and_says_so(tmp_path: Path) -> None:
    with Workspace(sweep(tmp_path / "s.irscope")) as workspace:
        made = capture_report(workspace, [("#1", "#2"), ("#2", "#3")], explained=True)
    whole = Stages(made, 10**9)
    sizes = [len(data) for number, pair in enumerate(whole.pairs, 1) for data in whole.data(number, pair)]
    some = Stages(made, sum(sizes) - 1)
    kept = [len(data) for number, pair in enumerate(some.pairs, 1) for data in some.data(number, pair)]
    assert sorted(kept) == sorted(sizes)[:-1]
    number = next(index for index, names in enumerate(some.left_out) if names)
    text = pair_section(some.pairs[number], number + 1, "title", some.left_out[number])
    (stage,) = some.left_out[number]
    assert f"Left out, because the page would be too large: {stage}." in text
    assert f"--stage {stage}" in text and f'id="pair{number + 1}-{stage}"' not in text


def test_rows_that_do_not_fit_are_left_out() -> None:
    assert fitting_rows([section()], 1_800_000) == 2000
    assert fitting_rows([section()] * 3, 100) == MIN_ROWS


def test_a_single_variant_is_shown_whole(tmp_path: Path) -> None:
    page = report(sweep(tmp_path / "s.irscope"), tmp_path / "s.html", "--pair", "#1", "#1").read_text()
    outline = Outline(page)
    assert not outline.open
    assert "<h2>Variant <code>#1 BLOCK_M=64,num_warps=4</code></h2>" in page
    assert "<h3>Layouts</h3>" in page and "Why it was compiled again" not in page


def test_hostile_text_stays_text(nasty: str) -> None:
    outline = Outline(nasty)
    assert not outline.open
    assert {tag for tag, _ in outline.elements} <= {
        "html", "head", "meta", "title", "style", "body", "header", "button", "h1", "h2", "h3", "p", "nav",
        "ul", "ol", "li", "a", "main", "section", "div", "label", "input", "span", "table", "thead", "tbody",
        "tr", "th", "td", "b", "code", "pre", "details", "summary", "figure", "figcaption", "svg", "path",
        "text", "fieldset", "legend", "noscript", "script", "footer", "rect", "g",
    }  # fmt: skip
    assert "onerror" not in {name for _, attributes in outline.elements for name in attributes}
    assert HOSTILE not in nasty and "\u202e" not in nasty
    assert nasty.count("<script") == nasty.count("</script>")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--stage", "cubin"], "cubin is binary"),
        (["--stage", "nonsense"], "unknown stage 'nonsense'"),
        (["--kernel", "nonsense"], "no kernel 'nonsense'"),
        (["--pair", "#1", "#9"], "no variant #9"),
    ],
)
def test_wrong_use_is_one_line(irscope, tmp_path: Path, words: list[str], says: str) -> None:
    done = irscope("report", str(sweep(tmp_path / "s.irscope")), *words)
    assert done.returncode == 2 and says in done.stderr and len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "s.html").exists()


def test_the_file_is_named_after_the_capture_and_never_overwritten(irscope, tmp_path: Path) -> None:
    capture = str(sweep(tmp_path / "s.irscope"))
    assert irscope("report", capture, "--stage", "ttir", "--pair", "#1", "#2").returncode == 0
    page = (tmp_path / "s.html").read_text()
    assert 'id="pair1-ttir-data"' in page and 'id="pair1-ttgir-data"' not in page
    assert "s.html exists" in irscope("report", capture).stderr
    assert irscope("report", capture, "--force").returncode == 0


def test_layouts_in_a_page_have_its_background_and_cells_have_black_text(tmp_path: Path) -> None:
    """A white box dazzles on a dark page; a file of its own is white, as paper is."""
    page = report(sweep(tmp_path / "s.irscope"), tmp_path / "page.html", "--pair", "#1", "#2").read_text()
    drawings = re.findall(r'<div class="scroll"[^>]*role="img"[^>]*><svg.*?</svg>', page, re.DOTALL)
    assert drawings
    for drawing in drawings:
        assert not re.search(r'<rect width="\d+" height="\d+" fill="#ffffff"/>', drawing)
        cells, others = (
            re.findall(r'<g text-anchor="middle"[^>]*>', drawing),
            re.findall("<text [^>]*fill=[^>]*>", drawing),
        )
        assert cells
        assert all('fill="#000000"' in group for group in cells)
        assert others
        assert all('fill="currentColor"' in text for text in others)
    style = re.search(r"\.drawings \.scroll \{([^}]*)\}", page)
    assert style
    assert "background" not in style[1]


def test_a_layout_in_a_file_of_its_own_is_black_on_white(tmp_path: Path) -> None:
    grid = Grid("tile", ("0",), ("0", "1"), ((GridCell("T0", 0), None),))
    picture = layout_svg([grid], "title")
    assert 'fill="#ffffff"/>' in picture
    assert "currentColor" not in picture

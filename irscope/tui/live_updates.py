"""What a batch of events changes in the workspace, and what the screen is to be told of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from irscope.tui.live import Ended, Event, Planned, Refused, StageMade, Started, Unchanged, VariantFinished
from irscope.workspace import Workspace


@dataclass
class LiveUpdates:
    """`rows`: there are other variants; `changed`: the ids of those of which there is more to say.

    `planned` is the last plan, `answered` whether what was asked for began or never will, `ended` whether
    all is done; `said` are words for the user, `problems` what went wrong.
    """

    rows: bool = False
    changed: set[int] = field(default_factory=set)
    planned: Planned | None = None
    answered: bool = False
    ended: bool = False
    said: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def apply_events(workspace: Workspace, events: Iterable[Event]) -> LiveUpdates:
    """Brings the workspace up to date."""
    news = LiveUpdates()
    for event in events:
        _take(workspace, event, news)
    return news


def _take(workspace: Workspace, event: Event, news: LiveUpdates) -> None:
    match event:
        case Planned():
            _plan(workspace, event)
            news.planned, news.rows, news.answered = event, True, True
            news.said += event.notes
        case Started(id_):
            if id_ in workspace.in_progress:
                workspace.in_progress.begin(id_)
                news.changed.add(id_)
        case StageMade(id_, stage, content):
            if id_ in workspace.in_progress:
                workspace.put(workspace.in_progress.with_stage(workspace.by_id(id_), stage, content))
                news.changed.add(id_)
        case VariantFinished(variant):
            workspace.in_progress.remove(variant.id)
            workspace.put(variant)
            news.changed.add(variant.id)
        case Unchanged(words):
            news.answered = True
            news.said.append(words)
        case Refused(problem):
            news.answered = True
            news.problems.append(problem)
        case Ended():
            news.ended = True
            news.rows = news.rows or bool(workspace.in_progress)
            workspace.drop(workspace.in_progress.clear())


def _plan(workspace: Workspace, planned: Planned) -> None:
    workspace.drop(workspace.in_progress.clear())
    workspace.renew_source(planned.kernel)
    for variant in planned.variants:
        workspace.put(variant)
        workspace.in_progress.add(variant.id)

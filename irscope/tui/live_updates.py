"""What a batch of events changes in the session, and what the screen is to be told of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from irscope.tui.live import Ended, Event, Planned, Refused, StageMade, Started, Unchanged, VariantFinished
from irscope.tui.session import Session


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


def apply_events(session: Session, events: Iterable[Event]) -> LiveUpdates:
    """Brings the session up to date."""
    news = LiveUpdates()
    for event in events:
        _take(session, event, news)
    return news


def _take(session: Session, event: Event, news: LiveUpdates) -> None:
    match event:
        case Planned():
            _plan(session, event)
            news.planned, news.rows, news.answered = event, True, True
            news.said += event.notes
        case Started(id_):
            if id_ in session.under_way:
                session.under_way.begin(id_)
                news.changed.add(id_)
        case StageMade(id_, stage, content):
            if id_ in session.under_way:
                session.put(session.under_way.with_stage(session.variant(id_), stage, content))
                news.changed.add(id_)
        case VariantFinished(variant):
            session.under_way.remove(variant.id)
            session.put(variant)
            news.changed.add(variant.id)
        case Unchanged(words):
            news.answered = True
            news.said.append(words)
        case Refused(problem):
            news.answered = True
            news.problems.append(problem)
        case Ended():
            news.ended = True
            news.rows = news.rows or bool(session.under_way)
            session.drop(session.under_way.clear())


def _plan(session: Session, planned: Planned) -> None:
    session.drop(session.under_way.clear())
    session.renew_source(planned.kernel)
    for variant in planned.variants:
        session.put(variant)
        session.under_way.add(variant.id)

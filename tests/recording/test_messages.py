"""Sending and receiving a message between two processes."""

from __future__ import annotations

import pickle
from multiprocessing import Pipe

import pytest

from irscope.compiling import messages
from irscope.compiling.messages import DisconnectedError, Note, receive, send
from irscope.model.errors import ArgumentError


def test_a_message_arrives_as_it_was_sent():
    ours, theirs = Pipe()
    send(ours, Note("text"))
    assert receive(theirs) == Note("text")


def test_both_functions_report_that_the_other_process_has_ended():
    ours, theirs = Pipe()
    theirs.close()
    with pytest.raises(DisconnectedError):
        send(ours, Note("text"))
    with pytest.raises(DisconnectedError):
        receive(ours)


def test_every_kind_of_message_is_in_the_union():
    kinds = {
        kind
        for kind in vars(messages).values()
        if isinstance(kind, type) and kind.__module__ == messages.__name__ and not issubclass(kind, Exception)
    }
    # Parts of a StartProgram, a kind of Job, and the base of requests.
    parts = {messages.Program, messages.RunOptions, messages.SubprocessOptions, messages.RecordedJob}
    parts |= {messages.Request}
    assert kinds - parts <= set(messages.Message.__args__)


def test_an_argument_is_named_as_python_and_the_command_line_spell_it():
    error = ArgumentError("max_variants", "must be at least 1")
    assert str(error) == "max_variants: must be at least 1"
    assert error.command_line_text == "--max-variants: must be at least 1"


def test_options_can_be_passed_through_the_environment():
    options = messages.SubprocessOptions(messages.RunOptions(None), "/x/a", "force", "irscope run")
    assert pickle.loads(pickle.dumps(options)) == options

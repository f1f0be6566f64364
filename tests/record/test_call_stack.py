"""Finding the program's own line."""

from __future__ import annotations

from irscope.capturing.call_stack import user_frame


def test_a_programs_folder_may_have_the_name_of_triton():
    namespace = {"user_frame": user_frame}
    exec(
        compile("def ask():\n    return user_frame()\n", "/program/ops/triton/torch/test_norm.py", "exec"),
        namespace,
    )
    frame = namespace["ask"]()
    assert frame.f_code.co_filename == "/program/ops/triton/torch/test_norm.py"

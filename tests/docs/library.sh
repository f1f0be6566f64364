# Makes library/, a repository of two of the samples with three commits; docs/libraries.md uses it.
set -e

commit() {  # commit DATE SUBJECT
    GIT_AUTHOR_DATE="$1T12:00:00Z" GIT_COMMITTER_DATE="$1T12:00:00Z" git add --all
    GIT_AUTHOR_DATE="$1T12:00:00Z" GIT_COMMITTER_DATE="$1T12:00:00Z" \
        git -c user.name=Maintainer -c user.email=maintainer@example.org commit --quiet --message "$2"
}

mkdir -p library/kernels
cp samples/fused_softmax.py library/kernels/softmax.py
cp samples/vector_add.py library/kernels/add.py
touch library/kernels/__init__.py
cat > library/bench.py <<'END'
"""Calls every operator of the library once per kind of input."""

import torch
from kernels.add import add
from kernels.softmax import softmax

for columns in (1024, 4096):
    softmax(torch.rand(256, columns, device="cuda"))
for length in (4096, 1000):
    add(torch.rand(length, device="cuda"), torch.rand(length, device="cuda"))
END

cd library
git init --quiet
commit 2026-11-01 "Add softmax and add"
sed -i 's/cols = tl.arange(0, BLOCK_SIZE)/cols = n_cols - 1 - tl.arange(0, BLOCK_SIZE)/' kernels/softmax.py
sed -i 's/mask = cols < n_cols/mask = cols >= 0/' kernels/softmax.py
commit 2026-11-02 "Read columns from the last to the first"
sed -i 's/BLOCK_SIZE=1024)/BLOCK_SIZE=2048)/' kernels/add.py
commit 2026-11-03 "Add 2,048 elements per program"

"""Multiplies in clusters of two blocks of threads."""

from __future__ import annotations

import torch

from tests.truth.bits.dots import gemm
from tests.truth.bits.space import Space, cdiv, product, unfused

SPACES = [
    Space(
        "cluster_gemm",
        gemm,
        unfused(
            product(
                48,
                BM=[64, 128],
                BN=[64, 128],
                BK=[32, 64],
                PRECISION=["ieee"],
                num_ctas=[1, 2],
                num_warps=[4, 8],
                num_stages=[1, 3],
            )
        ),
        (256, 256, 256),
        lambda data: (
            data.normal(256, 256, dtype=torch.float16),
            data.normal(256, 256, dtype=torch.float16),
            data.zeros(256, 256),
            256,
            256,
            256,
        ),
        lambda config: (cdiv(256, config["BM"]), cdiv(256, config["BN"])),
    )
]

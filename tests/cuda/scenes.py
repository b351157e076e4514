# SPDX-License-Identifier: Apache-2.0
"""The sources of the CUDA program that the tests record, for all that build it."""
import os

HERE = os.path.dirname(os.path.abspath(__file__))
SCENES = [os.path.join(HERE, n + ".c") for n in ("program", "calls", "driver", "links", "pauses", "ends", "others", "objects", "profiler",
                                                "../support/between")]

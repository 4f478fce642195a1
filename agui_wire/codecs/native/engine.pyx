# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: cdivision=True, binding=False, always_allow_keywords=False
# cython: auto_pickle=False
"""The native engine: events to frames and back, for what is canonical and in no way odd.

Whatever needs a judgement (a wrong type, a warning, an error, an unknown field) is handed back
to the Python codecs, event by event and frame by frame, so there is one set of rules.

Objects are held as PyObject*: a function returning one gives a new reference, or NULL for
"odd". No Python code runs while an event is written, so borrowed references stay good.
"""

from cpython.object cimport PyObject, PyTypeObject
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memmove, memset

include "imports.pxi"
include "plans.pxi"
include "writer.pxi"
include "values_out.pxi"
include "frames_out.pxi"
include "json_out.pxi"
include "msgpack_out.pxi"
include "texts_in.pxi"
include "values_in.pxi"
include "frames_in.pxi"
include "settled.pxi"
include "encoders.pxi"
include "decoders.pxi"

# What an EventEncoder's callers call.

cdef class Encoder:
    """Writes events on one wire; `fallback` writes the ones that need a judgement.

    `wire` is "protobuf", "msgpack" or "sse", where `encode` gives str. `fallback` always gives
    bytes.
    """

    cdef object fallback
    cdef Py_ssize_t max_frame_size
    cdef int limit
    cdef bint as_text
    cdef int (*put)(Writer*, PyObject*, Py_ssize_t) noexcept

    def __cinit__(self, fallback, max_frame_size, max_depth, wire):
        self.fallback = fallback
        self.max_frame_size = max(0, min(max_frame_size, LARGEST))
        # Deeper, and some peers have to be warned of.
        self.limit = max(0, min(max_depth, 32))
        self.as_text = wire == "sse"
        self.put = put_sse if wire == "sse" else put_frame
        if wire == "msgpack":
            self.put = put_msgpack

    cdef bint write(self, Writer* w, object event) except -1:
        """Whether the event could be written; then it stands at the end of `w`."""
        cdef int known
        while True:
            w.unknown = NULL
            if self.put(w, <PyObject*> event, self.max_frame_size) == 0:
                return True
            if w.unknown == NULL:
                return False
            known = type_count
            resolve(<object> w.unknown)
            if type_count == known:
                return False

    def encode(self, event, /):
        """One event: text on SSE, else bytes."""
        cdef Writer w
        cdef bint written = False
        open_writer(&w, self.limit)
        try:
            written = self.write(&w, event)
            if written:
                if self.as_text:
                    return owned(read_text(w.data, w.size))
                return owned(PyBytes_FromStringAndSize(<const char*> w.data, w.size))
        finally:
            close_writer(&w)
        framed = self.fallback(event)
        return framed.decode() if self.as_text else framed

    def encode_binary(self, event, /):
        """One event as bytes."""
        cdef Writer w
        cdef bint written = False
        open_writer(&w, self.limit)
        try:
            written = self.write(&w, event)
            if written:
                return owned(PyBytes_FromStringAndSize(<const char*> w.data, w.size))
        finally:
            close_writer(&w)
        return self.fallback(event)

    def encode_many(self, events, /):
        """Events as the bytes of one write."""
        cdef Writer w
        cdef Py_ssize_t size
        cdef bytes framed
        open_writer(&w, self.limit)
        try:
            for event in events:
                if self.write(&w, event):
                    continue
                framed = self.fallback(event)
                size = len(framed)
                if ensure(&w, size) < 0:
                    raise MemoryError
                put_bytes(&w, <char*> framed, size)
            return owned(PyBytes_FromStringAndSize(<const char*> w.data, w.size))
        finally:
            close_writer(&w)


cdef object owned(PyObject* made):
    """A new reference as Cython's, which counts for itself."""
    if made == NULL:
        raise MemoryError
    result = <object> made
    Py_DECREF(made)
    return result

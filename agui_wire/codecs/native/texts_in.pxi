# Text read, with a small memory of the short ones that come again.

DEF CACHE_SIZE = 512
DEF LONGEST_CACHED = 48

cdef struct Reader:
    PyObject** cache    # CACHE_SIZE texts, direct-mapped
    int limit           # JSON levels


cdef PyObject* read_text(const uint8_t* p, Py_ssize_t size) noexcept:
    cdef PyObject* text
    if is_ascii(p, size):
        text = new_ascii(p, size)
    else:
        text = PyUnicode_DecodeUTF8(<const char*> p, size, NULL)
    if text == NULL:
        PyErr_Clear()
    return text


cdef PyObject* read_repeated_text(Reader* r, const uint8_t* p, Py_ssize_t size) noexcept:
    """The same str for the same bytes, while they stay in the cache."""
    cdef PyObject** place
    cdef PyObject* text
    if size > LONGEST_CACHED or size < 2:
        return read_text(p, size)
    place = &r.cache[hash_bytes(p, size) % CACHE_SIZE]
    text = place[0]
    if text != NULL and PyUnicode_GET_LENGTH(text) == size:
        if memcmp(PyUnicode_DATA(text), p, size) == 0:
            Py_INCREF(text)
            return text
    if not is_ascii(p, size):
        return read_text(p, size)
    text = new_ascii(p, size)
    if text == NULL:
        PyErr_Clear()
        return NULL
    Py_XDECREF(place[0])
    Py_INCREF(text)
    place[0] = text
    return text


cdef PyObject* read_choice(const uint8_t* p, Py_ssize_t size, PyObject* choices) noexcept:
    cdef Py_ssize_t i
    cdef PyObject* text
    for i in range(Py_SIZE(choices)):
        text = tuple_item(choices, i)
        if PyUnicode_GET_LENGTH(text) == size and memcmp(PyUnicode_DATA(text), p, size) == 0:
            Py_INCREF(text)
            return text
    return NULL

# google.protobuf.Value and Struct, read.

cdef PyObject* new_number(double number) noexcept:
    """An int where the double is one and holds it exactly; a finite double else."""
    cdef long long whole
    cdef PyObject* value
    if -9007199254740992.0 <= number <= 9007199254740992.0:
        whole = <long long> number
        if <double> whole == number and (whole or 1.0 / number > 0):
            value = PyLong_FromLongLong(whole)
        else:
            value = PyFloat_FromDouble(number)
    elif is_finite(number):
        value = PyFloat_FromDouble(number)
    else:
        return NULL
    if value == NULL:
        PyErr_Clear()
    return value


cdef PyObject* read_value(Reader* r, const uint8_t* p, const uint8_t* end, int level) noexcept:
    """A Value with one kind; a dict or list in it stands at JSON level `level`."""
    cdef Py_ssize_t size
    cdef uint8_t tag
    cdef PyObject* value
    if p >= end:
        return NULL
    tag = p[0]
    p += 1
    if tag == SCALAR_NUMBER:
        return new_number(read_double(p)) if end - p == 8 else NULL
    if tag == SCALAR_BOOL or tag == SCALAR_NULL:
        if end - p != 1 or p[0] > (tag == SCALAR_BOOL):
            return NULL
        value = Py_None if tag == SCALAR_NULL else Py_True if p[0] else Py_False
        Py_INCREF(value)
        return value
    p = read_size(p, end, &size)
    if p == NULL or p + size != end:
        return NULL
    if tag == SCALAR_TEXT:
        return read_text(p, size)
    if tag == 0x2A:
        return read_struct(r, p, end, level)
    return read_items(r, p, end, level) if tag == 0x32 else NULL


cdef PyObject* read_struct(Reader* r, const uint8_t* p, const uint8_t* end, int level) noexcept:
    """A Struct's entries: a key, which may be left out, then a Value."""
    cdef PyObject* members
    cdef PyObject* key
    cdef PyObject* value
    cdef const uint8_t* stop
    cdef Py_ssize_t size
    cdef int done
    if level > r.limit:
        return NULL
    members = PyDict_New()
    if members == NULL:
        PyErr_Clear()
        return NULL
    while p < end:
        if p[0] != 0x0A:
            break
        p = read_size(p + 1, end, &size)
        if p == NULL:
            break
        stop = p + size
        if p < stop and p[0] == 0x0A:
            p = read_size(p + 1, stop, &size)
            if p == NULL:
                break
            key = read_repeated_text(r, p, size)
            p += size
        else:
            key = empty_text
            Py_INCREF(key)
        if key == NULL:
            break
        value = NULL
        if p < stop and p[0] == 0x12:
            p = read_size(p + 1, stop, &size)
            if p != NULL and p + size == stop:
                value = read_value(r, p, stop, level + 1)
        if value == NULL:
            Py_DECREF(key)
            break
        done = PyDict_SetItem(members, key, value)
        Py_DECREF(key)
        Py_DECREF(value)
        if done < 0:
            PyErr_Clear()
            break
        p = stop
    else:
        return members
    Py_DECREF(members)
    return NULL


cdef PyObject* read_items(Reader* r, const uint8_t* p, const uint8_t* end, int level) noexcept:
    """The Values of a ListValue."""
    cdef PyObject* items
    cdef PyObject* value
    cdef const uint8_t* probe = p
    cdef Py_ssize_t size = 0, count = 0
    if level > r.limit:
        return NULL
    while probe < end and probe[0] == 0x0A:
        probe = read_size(probe + 1, end, &size)
        if probe == NULL:
            return NULL
        probe += size
        count += 1
    if probe != end:
        return NULL
    items = new_list(count)
    if items == NULL:
        PyErr_Clear()
        return NULL
    while p < end:
        p = read_size(p + 1, end, &size)
        value = read_value(r, p, p + size, level + 1)
        if value == NULL or append(items, value) < 0:
            PyErr_Clear()
            Py_DECREF(items)
            return NULL
        p += size
    return items

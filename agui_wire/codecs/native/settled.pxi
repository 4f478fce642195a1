# What msgspec decoded strictly, on the JSON and MessagePack wires: whether it may stand as it is.

cdef bint is_plain(PyObject* value, int level, int limit) noexcept:
    """Whether a value is JSON, finite, and no deeper than `limit`; itself at JSON level `level`."""
    cdef PyTypeObject* cls = Py_TYPE(value)
    cdef Py_ssize_t position = 0, i
    cdef PyObject* key
    cdef PyObject* item
    if cls == &PyDict_Type:
        if level > limit:
            return False
        while PyDict_Next(value, &position, &key, &item):
            if Py_TYPE(key) != &PyUnicode_Type or not is_plain(item, level + 1, limit):
                return False
        return True
    if cls == &PyList_Type:
        if level > limit:
            return False
        for i in range(PyList_GET_SIZE(value)):
            if not is_plain(PyList_GET_ITEM(value, i), level + 1, limit):
                return False
        return True
    if cls == &PyUnicode_Type or cls == &PyLong_Type or cls == &PyBool_Type or value == Py_None:
        return True
    if cls == &PyFloat_Type:
        return is_finite(PyFloat_AS_DOUBLE(value))
    return is_plain_struct(value, level, limit)


cdef bint is_plain_struct(PyObject* value, int level, int limit) noexcept:
    cdef Plan* plan = plan_of(Py_TYPE(value))
    cdef int i
    if plan == NULL or plan.struct_cls == NULL or plan.is_model or level > limit:
        return False
    for i in range(plan.slot_count):
        if not is_plain(value_at(<const char*> value, &plan.slots[i]), level + 1, limit):
            return False
    return True


cdef bint are_operations(PyObject* value) noexcept:
    cdef Operation found
    cdef Writer unused
    cdef Py_ssize_t i
    for i in range(PyList_GET_SIZE(value)):
        if not is_operation(&unused, PyList_GET_ITEM(value, i), &found):
            return False
    return True


cdef bint is_settled(PyObject* event, bint searched, int limit) noexcept:
    """Whether an event needs no judgement; `searched` looks into its open JSON too."""
    cdef Plan* plan = plan_of(Py_TYPE(event))
    cdef Slot* slot
    cdef PyObject* value
    cdef int i
    if plan == NULL or not plan.is_event or plan.is_model or plan.judged:
        return False
    for i in range(plan.slot_count):
        slot = &plan.slots[i]
        if slot.kind == TEXT or slot.kind == CHOICE or slot.kind == INT or slot.kind == BOOL:
            continue
        value = value_at(<const char*> event, slot)
        if value == Py_None or Py_TYPE(value) == &PyUnicode_Type:
            continue
        if slot.kind == OPERATIONS and not are_operations(value):
            return False
        if searched and not is_plain(value, 2, limit):
            return False
    return True

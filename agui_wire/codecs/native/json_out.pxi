# Events to SSE text, as msgspec writes a Struct and pydantic a model of the SDK.

cdef int put_json_str(Writer* w, PyObject* text) noexcept:
    # Half a surrogate pair has no UTF-8.
    if utf8_size(text) < 0 or ensure(w, 6 * PyUnicode_GET_LENGTH(text) + 16) < 0:
        return -1
    w.size = put_json_text(w.data + w.size, text) - w.data
    return 0


cdef int put_json_int(Writer* w, long long number) noexcept:
    cdef uint8_t digits[24]
    cdef uint64_t rest = <uint64_t> number
    cdef int count = 0
    if ensure(w, 24) < 0:
        return -1
    if number < 0:
        put_byte(w, c"-")
        rest = 0 - rest
    while True:
        digits[count] = c"0" + rest % 10
        count += 1
        rest //= 10
        if not rest:
            break
    while count:
        count -= 1
        put_byte(w, digits[count])
    return 0


cdef int put_json_float(Writer* w, double number) noexcept:
    """A double that all JSON writers spell alike."""
    cdef char* text
    cdef Py_ssize_t size = 0
    cdef double magnitude = -number if number < 0 else number
    # Python's own spelling has an exponent below 1e-4, where others have none.
    if magnitude != 0 and not (1e-4 <= magnitude < 1e16):
        return -1
    text = PyOS_double_to_string(number, c"r", 0, Py_DTSF_ADD_DOT_0, NULL)
    if text == NULL:
        PyErr_Clear()
        return -1
    while text[size]:
        size += 1
    if ensure(w, size) < 0:
        PyMem_Free(text)
        return -1
    put_bytes(w, text, size)
    PyMem_Free(text)
    return 0


cdef int put_json_value(Writer* w, PyObject* value, int level) noexcept:
    """Any JSON value; a dict or list stands at JSON level `level`."""
    cdef PyTypeObject* cls = Py_TYPE(value)
    cdef long long number
    cdef int overflow
    if cls == &PyUnicode_Type:
        return put_json_str(w, value)
    if cls == &PyLong_Type:
        number = int_of(value, &overflow)
        return -1 if overflow else put_json_int(w, number)
    if cls == &PyFloat_Type:
        return put_json_float(w, PyFloat_AS_DOUBLE(value))
    if cls == &PyDict_Type:
        return put_json_dict(w, value, level)
    if cls == &PyList_Type:
        return put_json_list(w, NULL, value, False, level)
    if ensure(w, 8) < 0:
        return -1
    if value == Py_None:
        put_bytes(w, <const char*> b"null", 4)
    elif value == Py_True:
        put_bytes(w, <const char*> b"true", 4)
    elif value == Py_False:
        put_bytes(w, <const char*> b"false", 5)
    else:
        return -1
    return 0


cdef int put_json_dict(Writer* w, PyObject* value, int level) noexcept:
    cdef Py_ssize_t position = 0
    cdef PyObject* key
    cdef PyObject* item
    cdef bint first = True
    if level > w.limit or ensure(w, 2) < 0:
        return -1
    put_byte(w, c"{")
    while PyDict_Next(value, &position, &key, &item):
        if Py_TYPE(key) != &PyUnicode_Type or ensure(w, 2) < 0:
            return -1
        if not first:
            put_byte(w, c",")
        first = False
        if put_json_str(w, key) < 0 or ensure(w, 2) < 0:
            return -1
        put_byte(w, c":")
        if put_json_value(w, item, level + 1) < 0:
            return -1
    if ensure(w, 2) < 0:
        return -1
    put_byte(w, c"}")
    return 0


cdef int put_json_list(
    Writer* w, Slot* slot, PyObject* value, bint is_model, int level
) noexcept:
    """A list at JSON level `level`: of what `slot` holds, or of any JSON where that is NULL."""
    cdef Py_ssize_t i
    if level > w.limit or ensure(w, 2) < 0:
        return -1
    put_byte(w, c"[")
    for i in range(PyList_GET_SIZE(value)):
        if i:
            put_byte(w, c",")
        if put_json_item(w, slot, PyList_GET_ITEM(value, i), is_model, level + 1) < 0:
            return -1
        if ensure(w, 2) < 0:
            return -1
    put_byte(w, c"]")
    return 0


cdef int put_json_item(
    Writer* w, Slot* slot, PyObject* item, bint is_model, int level
) noexcept:
    cdef Operation found
    if slot == NULL:
        return put_json_value(w, item, level)
    if slot.kind == TEXTS:
        return put_json_str(w, item) if Py_TYPE(item) == &PyUnicode_Type else -1
    if slot.kind == OPERATIONS:
        if not is_operation(w, item, &found):
            return -1
        if Py_TYPE(item) == &PyDict_Type:
            return put_json_dict(w, item, level)
        return put_json_operation(w, item, &found, level)
    return put_json_object(w, slot, item, is_model, level)


cdef bint is_operation(Writer* w, PyObject* value, Operation* found) noexcept:
    """Whether a patch operation is as RFC 6902 wants it."""
    if read_operation(w, value, found) < 0 or not is_json_pointer(found.path):
        return False
    return not needs_origin(found.number) or is_json_pointer(found.origin)


cdef inline PyObject* member_of(Operation* found, int slot) noexcept:
    if slot == 0:
        return found.name
    return found.path if slot == 1 else found.origin if slot == 2 else found.value


cdef int put_json_operation(
    Writer* w, PyObject* operation, Operation* found, int level
) noexcept:
    """A model of a patch operation."""
    cdef Plan* plan = plan_of(Py_TYPE(operation))
    cdef Piece* piece
    cdef PyObject* value
    cdef int i, first = 1
    if level > w.limit or ensure(w, 4) < 0:
        return -1
    put_byte(w, c"{")
    for i in range(plan.piece_count):
        piece = &plan.pieces[i]
        value = member_of(found, piece.slot)
        if value == NULL:
            continue
        if ensure(w, piece.size) < 0:
            return -1
        put_bytes(w, piece.text + first, piece.size - first)
        first = 0
        if put_json_value(w, value, level + 1) < 0:
            return -1
    if ensure(w, 4) < 0:
        return -1
    put_byte(w, c"}")
    return 0


cdef bint is_json_pointer(PyObject* text) noexcept:
    return Py_TYPE(text) == &PyUnicode_Type and is_text_pointer(text)


cdef int put_json_slot(
    Writer* w, Slot* slot, PyObject* value, bint is_model, int level
) noexcept:
    """The value of a slot, whose container stands at JSON level `level`."""
    cdef int64_t number
    if slot.kind == TEXT or slot.kind == CHOICE:
        return put_json_str(w, value) if is_textual(value, slot) else -1
    if slot.kind == INT:
        return -1 if read_int(value, slot, &number) < 0 else put_json_int(w, number)
    if slot.kind == BOOL:
        return put_json_value(w, value, level) if Py_TYPE(value) == &PyBool_Type else -1
    if slot.kind == ANY or slot.kind == OPEN or slot.kind == OBJECT:
        return put_json_value(w, value, level) if is_open(value, slot) else -1
    if slot.kind == STRUCT or slot.kind == OUTCOME:
        return put_json_object(w, slot, value, is_model, level)
    if slot.kind == CONTENT and Py_TYPE(value) == &PyUnicode_Type:
        return put_json_str(w, value)
    return put_json_list(w, slot, value, is_model, level) if is_list(value, slot) else -1


cdef int put_json_object(
    Writer* w, Slot* slot, PyObject* value, bint is_model, int level
) noexcept:
    cdef PyObject* values[MOST_SLOTS]
    cdef Plan* plan = plan_for(w, value, slot, is_model)
    cdef const char* base
    if plan == NULL:
        return -1
    base = values_of(plan, value, values)
    return put_json_members(w, plan, base, level) if base != NULL else -1


cdef int put_json_members(Writer* w, Plan* plan, const char* base, int level) noexcept:
    """An object at JSON level `level`."""
    cdef int i, first = 1
    cdef Piece* piece
    cdef Slot* slot = NULL
    cdef PyObject* value
    if level > w.limit or ensure(w, 4) < 0:
        return -1
    put_byte(w, c"{")
    for i in range(plan.piece_count):
        piece = &plan.pieces[i]
        value = plan.tag
        if piece.slot >= 0:
            slot = &plan.slots[piece.slot]
            value = value_at(base, slot)
            if value == Py_None and slot.optional:
                continue
            if value == NULL:
                return -1
        if ensure(w, piece.size) < 0:
            return -1
        put_bytes(w, piece.text + first, piece.size - first)
        first = 0
        if piece.slot < 0:
            if put_json_str(w, value) < 0:
                return -1
        elif put_json_slot(w, slot, value, plan.is_model, level + 1) < 0:
            return -1
    if ensure(w, 4) < 0:
        return -1
    put_byte(w, c"}")
    return 0


cdef int put_sse(Writer* w, PyObject* event, Py_ssize_t max_frame_size) noexcept:
    """An event as an SSE event, or -1 with nothing written where it is odd."""
    cdef PyObject* values[MOST_SLOTS]
    cdef const char* base
    cdef Plan* plan = plan_of(Py_TYPE(event))
    cdef Py_ssize_t start = w.size
    if plan == NULL:
        w.unknown = Py_TYPE(event)
        return -1
    if not plan.is_event or ensure(w, 16) < 0:
        return -1
    base = values_of(plan, event, values)
    if base == NULL:
        return -1
    put_bytes(w, <const char*> b"data: ", 6)
    if put_json_members(w, plan, base, 1) < 0 or w.size + 2 - start > max_frame_size:
        w.size = start
        return -1
    put_byte(w, c"\n")
    put_byte(w, c"\n")
    return 0

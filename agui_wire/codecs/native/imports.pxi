# The C API as PyObject*, without Cython's own counting of references.

cdef extern from "helpers.h":
    int is_ascii "agui_is_ascii"(const uint8_t*, Py_ssize_t) nogil
    int varint_size "agui_varint_size"(uint64_t) nogil
    uint8_t* put_varint "agui_put_varint"(uint8_t*, uint64_t) nogil
    const uint8_t* read_varint "agui_read_varint"(const uint8_t*, const uint8_t*, int, uint64_t*) nogil
    const uint8_t* read_size "agui_read_size"(const uint8_t*, const uint8_t*, Py_ssize_t*) nogil
    double read_double "agui_read_double"(const uint8_t*) nogil
    uint8_t* put_double "agui_put_double"(uint8_t*, double) nogil
    Py_ssize_t utf8_size "agui_utf8_size"(PyObject*)
    uint8_t* put_utf8 "agui_put_utf8"(uint8_t*, PyObject*)
    uint8_t* put_json_text "agui_put_json_text"(uint8_t*, PyObject*)
    int is_pointer "agui_is_pointer"(const uint8_t*, Py_ssize_t) nogil
    int is_text_pointer "agui_is_text_pointer"(PyObject*)
    long long int_of "agui_int"(PyObject*, int*)
    uint32_t hash_bytes "agui_hash"(const uint8_t*, Py_ssize_t) nogil
    PyObject* new_ascii "agui_ascii"(const uint8_t*, Py_ssize_t)
    Py_ssize_t slot_offset "agui_slot_offset"(PyObject*)
    PyObject* new_instance "agui_new"(PyTypeObject*)
    PyObject* new_list "agui_list"(Py_ssize_t)
    int append "agui_append"(PyObject*, PyObject*)

cdef extern from "Python.h":
    Py_ssize_t PY_SSIZE_T_MAX
    PyTypeObject* Py_TYPE(PyObject*)
    void Py_INCREF(PyObject*)
    void Py_DECREF(PyObject*)
    void Py_XDECREF(PyObject*)
    Py_ssize_t Py_SIZE(PyObject*)
    PyObject* Py_None
    PyObject* Py_True
    PyObject* Py_False
    PyTypeObject PyUnicode_Type
    PyTypeObject PyLong_Type
    PyTypeObject PyFloat_Type
    PyTypeObject PyBool_Type
    PyTypeObject PyDict_Type
    PyTypeObject PyList_Type
    PyTypeObject PyBytes_Type
    void PyObject_GC_Track(PyObject*)
    int PyObject_IS_GC(PyObject*)
    PyObject* PyObject_GenericGetDict(PyObject*, void*)
    PyObject* PyObject_CallOneArg(PyObject*, PyObject*)
    int PyDict_Next(PyObject*, Py_ssize_t*, PyObject**, PyObject**)
    Py_ssize_t PyDict_GET_SIZE(PyObject*)
    PyObject* PyDict_New()
    int PyDict_SetItem(PyObject*, PyObject*, PyObject*)
    PyObject* PyDict_GetItemWithError(PyObject*, PyObject*)
    Py_ssize_t PyList_GET_SIZE(PyObject*)
    PyObject* PyList_GET_ITEM(PyObject*, Py_ssize_t)
    PyObject* PyList_New(Py_ssize_t)
    double PyFloat_AS_DOUBLE(PyObject*)
    PyObject* PyFloat_FromDouble(double)
    PyObject* PyLong_FromLongLong(long long)
    Py_ssize_t PyUnicode_GET_LENGTH(PyObject*)
    int PyUnicode_IS_COMPACT_ASCII(PyObject*)
    void* PyUnicode_DATA(PyObject*)
    int PyUnicode_Compare(PyObject*, PyObject*)
    PyObject* PyUnicode_DecodeUTF8(const char*, Py_ssize_t, const char*)
    PyObject* PyBytes_FromStringAndSize(const char*, Py_ssize_t)
    char* PyBytes_AS_STRING(PyObject*)
    Py_ssize_t PyBytes_GET_SIZE(PyObject*)
    char* PyOS_double_to_string(double, char, int, int, int*)
    int Py_DTSF_ADD_DOT_0
    void PyMem_Free(void*)
    PyObject* tuple_item "PyTuple_GET_ITEM"(PyObject*, Py_ssize_t)
    void PyErr_Clear()
    PyObject* PyErr_Occurred()

cdef extern from "string.h":
    const void* memchr(const void*, int, size_t) nogil

// The exception that carries a refused row to Python.
#include "refused.hpp"

#include <nanobind/stl/string.h>

#include <string>

#include "bindings.hpp"

namespace nb = nanobind;
using namespace sureline;
using namespace sureline::bindings;

namespace {

// A property of an exception: the part of its arguments at this place.
void add_property(nb::handle type, const char* name, const char* signature, int place, const char* doc) {
  const nb::object getter = nb::cpp_function([place](nb::handle self) { return nb::object(self.attr("args")[place]); },
                                             nb::name(name), nb::is_method(), nb::sig(signature), doc);
  type.attr(name) = nb::handle(reinterpret_cast<PyObject*>(&PyProperty_Type))(getter, nb::none(), nb::none(), doc);
}

void translate(const std::exception_ptr& thrown, void* type) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Refused& refused) {
    const nb::object error = nb::handle(static_cast<PyObject*>(type))(refused.outcome.row, refused.outcome.refusal);
    PyErr_SetObject(static_cast<PyObject*>(type), error.ptr());
  }
}

}  // namespace

void bind_refused(nb::module_& m) {
  nb::enum_<Refusal>(m, "Reason", "Why a row was refused.")
      .value("contents", Refusal::contents, "A value that is not finite, or a column out of range.")
      .value("order", Refusal::order, "Its columns do not ascend.")
      .value("score", Refusal::score, "Its score or variance overflows.")
      .value("step", Refusal::step, "Its step would overflow.")
      .value("memory", Refusal::memory, "No memory is left for the journal.");
  const std::string name = nb::cast<std::string>(m.attr("__name__")) + ".Refused";
  const nb::object type =
      nb::steal(PyErr_NewExceptionWithDoc(name.c_str(), "A row that was refused.", PyExc_Exception, nullptr));
  add_property(type, "row", "def row(self) -> int", 0, "Which row; -1 if it is none of them alone.");
  add_property(type, "reason", "def reason(self) -> Reason", 1, "Why.");
  m.attr("Refused") = type;
  nb::register_exception_translator(translate, type.ptr());  // the module keeps it alive
}

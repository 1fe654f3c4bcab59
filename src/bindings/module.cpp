// The module as Python sees it, each part in its own file.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdlib>
#include <string>

#include "bindings.hpp"
#include "models.hpp"

namespace nb = nanobind;
using namespace sureline;
using namespace sureline::bindings;

namespace {

// Chooses the widest instruction set of the machine, or the one in the environment.
void choose_instruction_set() {
  std::string why_not;
  g_instruction_set = sureline::choose_instruction_set(std::getenv("SURELINE_INSTRUCTION_SET"), why_not);
  if (!g_instruction_set) throw nb::import_error(why_not.c_str());
}

}  // namespace

NB_MODULE(_core, m) {
  m.doc() = "The compiled core of sureline: checked rows, rules, models, and the loops over them.";
  nb::set_leak_warnings(false);  // rules that live until the interpreter ends are no leak
  choose_instruction_set();
  bind_refused(m);
  bind_shapes(m);
  bind_rows(m);
  bind_rules(m);
  bind_mapped(m);
  bind_budgets(m);
  bind_python_rule(m);
  bind_windows(m);
  bind_averages(m);
  bind_scales(m);
  bind_gate(m);
  bind_models(m);
  bind_batch(m);
  bind_confidence(m);
  bind_asking(m);
  bind_alarms(m);
  bind_sdca(m);
  bind_merging(m);
  bind_groups(m);
  bind_parsers(m);
  bind_hashing(m);
  bind_columns(m);
  bind_tables(m);
  m.def("instruction_set", [] { return std::string(g_instruction_set->name); }, "The instruction set whose loops run.");
}

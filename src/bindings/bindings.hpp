// The parts of the module, each in its own file.
#pragma once

#include <nanobind/nanobind.h>

void bind_refused(nanobind::module_& m);      // refused.cpp: the exception of a refused row
void bind_shapes(nanobind::module_& m);       // shapes.cpp: the numbers of a model, and the columns of its arrays
void bind_rows(nanobind::module_& m);         // rows.cpp: checked rows
void bind_rules(nanobind::module_& m);        // rules.cpp: margin rules and coordinate rules
void bind_python_rule(nanobind::module_& m);  // python_rule.cpp: a rule whose step is a Python function
void bind_mapped(nanobind::module_& m);       // mapped.cpp: arrays that take memory only for touched pages
void bind_budgets(nanobind::module_& m);      // budgets.cpp: bounds on the number of nonzero weights
void bind_averages(nanobind::module_& m);     // extras.cpp: averages of weights along a stream
void bind_windows(nanobind::module_& m);      // windows.cpp: online dual coordinate ascent
void bind_scales(nanobind::module_& m);       // scales.cpp: rows on a common measure
void bind_gate(nanobind::module_& m);         // gate.cpp: who uses a model
void bind_models(nanobind::module_& m);       // learn.cpp: models that learn and score; one.cpp: one example at a time
void bind_batch(nanobind::module_& m);        // batch.cpp: online-batch learning
void bind_confidence(nanobind::module_& m);   // confidence.cpp: predictions that preceded their labels
void bind_alarms(nanobind::module_& m);       // alarms.cpp: rises of a mean along a stream
void bind_asking(nanobind::module_& m);       // asking.cpp: labels that are asked for, row by row
void bind_sdca(nanobind::module_& m);         // sdca.cpp: rows that are gone over again and again
void bind_merging(nanobind::module_& m);      // merging.cpp: what shards learned, in one model
void bind_groups(nanobind::module_& m);       // groups.cpp: groups of features
void bind_parsers(nanobind::module_& m);      // text/parsers.cpp: text to rows
void bind_hashing(nanobind::module_& m);      // text/hashing.cpp: names to columns
void bind_columns(nanobind::module_& m);      // text/columns.cpp: list columns and labels of files
void bind_tables(nanobind::module_& m);       // text/tables.cpp: tables to rows

// Vowpal Wabbit's text: `label weight initial 'tag |namespace:scale name name:value :value name:text |namespace ...`.
//
// Rows are what Vowpal Wabbit 9 makes of the lines with its default --hash strings and `bits` bits:
// - The column of a name is its hash, seeded by the hash of its namespace, without its high bits. Names all of digits
//   are not hashed: their number is added to the namespace's hash. A name without a namespace is seeded by 0. Features
//   without a name are numbered in their namespace, from 0, whenever it begins. For `name:text` the hash of the text is
//   seeded by that of the name.
// - A value is that of the feature times the scale of its namespace, or 1 for `name:text`; features of value 0 are left
//   out. Here values with the same column are added up.
// - The word that touches the first '|', or begins with a quote, is the row's tag: "1| a" has the tag 1 and no label.
// - Blank lines are no rows.
// Vowpal Wabbit adds a constant feature; here it is left out, since the learners have an intercept.
//
// Where Vowpal Wabbit repairs or drops something with a warning, or in silence, the line is a fault: numbers that are
// malformed, out of range, nan or infinite, words before the '|' that are no simple label, lines without a '|', a
// carriage return inside a line. An initial prediction other than 0 is a fault too: the learners have none.
#pragma once

#include "names.hpp"
#include "pieces.hpp"

namespace sureline::text {

// Scalar is float or double. The block has fewer than 2^31 bytes; 1 <= bits <= Columns::kMostBits. If there is a table
// of names, with the columns {Columns::masked, bits}, the names of every `every`-th row are counted in it, that many
// times each. Of the options, shift and sum_duplicates mean nothing here.
template <class Scalar>
Chunk<Scalar> parse_vw(Pieces& block, int bits, const Options& options, NameTable* names = nullptr, int64_t every = 1);

}  // namespace sureline::text

/* SPDX-License-Identifier: MIT */
/* What the files of gathers and scatters share; programs that use none do not have them. */
#ifndef PALLAS_LIST_H
#define PALLAS_LIST_H

#include "internal.h"

/* Whether rows of src go to dst by the list (scatter: the list is of dst's rows); else a sticky error. */
bool pl_list_check(const struct pl_view *dst, const struct pl_view *src, const struct pl_view *list,
                   bool scatter, const char *who);
/* Queues such a copy, which was checked, in program order; false if the call has failed. */
bool pl_list_copy(struct pl_context *c, struct pl_view *dst, struct pl_view *src, struct pl_view *list,
                  bool scatter);

#endif

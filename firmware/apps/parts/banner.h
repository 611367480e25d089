/* SPDX-License-Identifier: MIT */
/* The banner: which configuration, which units, how much memory. */
#ifndef APPS_BANNER_H
#define APPS_BANNER_H

void banner_print(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Between the parts of vector functions: recording (vfn_record.c), programs (vfn_compile.c, vfn_emit.c,
 * vfn_programs.c) and launches (vfn_launch.c).
 */
#ifndef PALLAS_VFN_H
#define PALLAS_VFN_H

#include "internal.h"

/* What is 1 in a shape. */
enum vfn_extent { VFN_ONE_ROW = 1, VFN_ONE_COLUMN = 2 };

/* What a program knows of a ref. */
struct vfn_side {
  uint8_t dtype : 4, acc : 1, extent : 2; /* pl_dtype; in ACC; enum vfn_extent */
  /* Of its rows in VMEM, bytes; 0: it has one row, is in ACC, or VFN_PITCH_MOST is exceeded. */
  uint16_t pitch;
};
enum { VFN_PITCH_MOST = 4096 };

/* What a program may depend on of the launch's shape. */
enum vfn_shape {
  VFN_SHAPE_ONE_ROW = VFN_ONE_ROW,
  VFN_SHAPE_ONE_COLUMN = VFN_ONE_COLUMN,
  VFN_SHAPE_RAGGED_ROWS = 4,    /* no multiple of 8 */
  VFN_SHAPE_RAGGED_COLUMNS = 8, /* no multiple of LANES */
  VFN_SHAPE_ROWS_SHIFT = 4,     /* 1, 2 or 3: groups of 1, 2 or 4 tiles along rows are worth while */
  VFN_SHAPE_COLUMNS_SHIFT = 6,  /* likewise along columns */
};

/* A ref as rows of columns: leading dimensions are folded into rows. */
struct pl_plane {
  int32_t rows, columns, pitch;
};

struct vfn_key {
  const pl_vector_fn *fn;
  struct vfn_side side[PL_MAX_VECTOR_REFS];
  uint8_t shape; /* enum vfn_shape */
};

/* What loops over what. Level 0 is the outer loop, 1 the inner ones; 2 goes back to the start of a row. */
enum vfn_mode {
  VFN_ELEMENTS, /* columns, then groups of rows */
  VFN_LANES,    /* groups of rows, then columns: PL_FOR_LANES */
  VFN_ROWS,     /* groups of columns, then rows: PL_FOR_ROWS */
  VFN_BOTH,     /* rows, then columns, with code before and behind all of it */
};

enum { VFN_CONSTANTS = 4, VFN_ADDRESSES = 8 };

/* A program in the program memory. */
struct vfn_program {
  struct vfn_key key;
  uint8_t matters; /* bits of key.shape that it depends on */
  uint8_t mode, groups;
  uint8_t inner;         /* number of inner loops */
  bool peeled;           /* the last iteration of inner loops is apart */
  uint8_t loads, stores; /* bit i: ref i */
  uint8_t apart;         /* bit i: ref i has an address register for each group */
  uint8_t addresses;     /* used address registers */
  uint8_t areg[PL_MAX_VECTOR_REFS];
  uint8_t constants; /* in scalars 8 - constants .. 7 */
  uint16_t entry, words;
  uint32_t constant[VFN_CONSTANTS];
};

struct vfn_record;
/*
 * What makes whole-ref operations more than a function of their name: the result is ref 0, sources come
 * behind it, and they are checked by rules of their own.
 */
struct vfn_whole {
  /* Of refs that are planes; may say how a plane is to be seen. False with a sticky error. */
  bool (*check)(const pl_vector_fn *fn, struct pl_view *const *view, struct pl_plane *plane);
  /* The program, if no body is recorded, or NULL: all about it but its entry, or, with `write`, its words. */
  void (*make)(struct pl_context *c, struct vfn_program *p, bool write);
  void (*describe)(struct vfn_record *r, struct pl_view *const *view);
};

/* ---- recording ---- */

enum vfn_pseudo {                 /* beside enum tpu_vop */
                  VFN_PHI = 0xf0, /* carried: a its start, b what it becomes */
                  VFN_SCALAR = 0xf1,
                  VFN_ALIAS = 0xf2, /* another name, or type, of a */
                  /* In messages only: VFN_ALIAS + type, and */
                  VFN_NEG = 0xf5,
                  VFN_FOR = 0xf6, /* + axis */
};

enum vfn_flags {
  VFN_FLAG_LIVE = 1,
  VFN_FLAG_INT = 2, /* memory: register type */
  VFN_FLAG_MASKED = 4,
  VFN_FLAG_SLOT = 8,    /* a constant in a scalar slot, c */
  VFN_FLAG_FILL = 16,   /* x enum tpu_fill */
  VFN_FLAG_SPREAD = 64, /* a load whose first lane goes to all others */
};

struct vfn_node {
  uint8_t op;      /* enum tpu_vop, enum vfn_pseudo */
  uint8_t type;    /* enum pl_vtype */
  uint8_t loop;    /* number of the innermost loop around it; 0: none */
  uint8_t flags;   /* enum vfn_flags */
  uint8_t a, b, c; /* operands; 0: none */
  uint8_t varies;  /* with the position along rows (1), along columns (2) */
  uint16_t line;
  uint8_t at, last; /* positions in the program of the value and of its last use */
  uint32_t value;   /* constant, ref, scalar, loop */
};
enum { VFN_ALONG_ROWS = 1, VFN_ALONG_COLUMNS = 2 };

enum { VFN_MAX_LOOPS = 8, VFN_MAX_NODES = PL_MAX_VECTOR_VALUES, VFN_VREGS = 32, VFN_GROUPS = 4 };

struct vfn_loop {
  uint8_t axis, parent;
  uint8_t carried, first; /* PHI nodes first .. first + carried - 1 */
  uint8_t node;           /* the LOOP node */
  uint8_t begin, end;     /* positions in the program */
};

/* Entries of `order` that are no nodes. */
enum vfn_marker { VFN_MARK_LOOP = 0xe0 /* + level */, VFN_MARK_END = 0xe4, VFN_MARK_REWIND = 0xe8 };

struct vfn_recording {
  const pl_vector_fn *fn; /* NULL: none is running */
  const struct vfn_key *key;
  uint32_t number; /* of this recording, in the handles it gave */
  uint32_t matters;
  bool neutral; /* set by a body: what is carried stays right in lanes outside the shape by itself */
  uint8_t stores, loads;
  uint8_t nodes, loops, loop; /* the running one */
  uint8_t variables;
  pl_v *variable[16]; /* carried by the loops that are open, those of inner ones last */
  struct vfn_loop loop_of[VFN_MAX_LOOPS + 3];
  struct vfn_node node[VFN_MAX_NODES];
  /* vfn_compile.c */
  uint8_t ordered, order[VFN_MAX_NODES + 16];
  uint8_t becomes[VFN_MAX_NODES]; /* the PHI whose registers a value takes; 0: none */
  uint8_t reg[VFN_MAX_NODES][VFN_GROUPS];
};

extern struct vfn_recording vfn_recording;

/* Begins the error of a line; true if it is the first one, whose text the caller then adds. */
bool vfn_fail(pl_status status, uint32_t line);
/* ---- vfn_names.c ---- */
/* Adds to the message that operand i has no value; op: as pl_vrecord_op() gets it, a node's, or one of the
 * others. */
PL_COLD void vfn_add_operand(unsigned op, unsigned i);
/* Runs the function's body; false with a sticky error. */
bool vfn_record(struct pl_context *c, const struct vfn_key *key);
/* Makes the recording a program, of which only the entry is to be said; false with a sticky error. */
bool vfn_compile(struct pl_context *c, struct vfn_program *p);
/* Whether the value is another one for each group. */
bool vfn_in_groups(const struct vfn_program *p, const struct vfn_node *n);
/* Whether it stands in a register. */
bool vfn_in_register(const struct vfn_node *n);
/*
 * Gives registers and, with `write`, writes the program to its entry. Returns the number of words; 0 if the
 * registers do not suffice, and then `at` is the position at which.
 */
uint32_t vfn_emit(struct pl_context *c, const struct vfn_program *p, bool write, unsigned *at);
/* The program of a key, recorded and loaded if it is not there; NULL with a sticky error. */
const struct vfn_program *vfn_find(struct pl_context *c, const struct vfn_key *key);
/* Another one: the programs there were are gone. */
extern uint32_t vfn_generation;

/* ---- launches ---- */

enum vfn_use {
  VFN_LOADED = 1, /* or stored to ACC: a dot's third wait is for the vector unit, whatever it did */
  VFN_STORED = 2,
  VFN_TO_ACC = 4,
  VFN_MORE = 3, /* from this bit on: number of address registers less one */
};

/* A ref of a record, by what a launch touches. */
struct vfn_ref {
  const struct pl_view *view; /* the last one, for pl_vrun() */
  uint32_t use;               /* enum vfn_use */
  uint32_t offset;            /* of its first address register, added to its address */
};

/* One command of a function over refs of certain forms: all of its words but addresses and scalars. */
struct vfn_record {
  const pl_vector_fn *fn; /* NULL: empty */
  uint32_t sight;         /* pl_context.sight in which the views were found to fit; 0: none */
  uint32_t counts;        /* PL_VCOUNTS() of the function */
  uint8_t refs, scalars, addresses, constants;
  uint8_t stores, loads; /* bit i: ref i */
  struct vfn_ref ref[PL_MAX_VECTOR_REFS];
  const struct pl_view *before[PL_MAX_VECTOR_REFS]; /* views that came before those of `ref` */
  uint32_t sight_before;
  uint32_t used;       /* pl_context.sight in which it was looked for last */
  uint32_t hash;       /* of fn and forms */
  uint32_t generation; /* of the programs */
  uint32_t form[PL_MAX_VECTOR_REFS];
  uint8_t align[PL_MAX_VECTOR_REFS]; /* bits that are 0 in a view's offset */
  uint32_t constant[VFN_CONSTANTS];
  uint32_t entry, loop[2], edge, rows, columns;
  /* By address register, in the order of refs. */
  uint32_t offset[VFN_ADDRESSES];
  int32_t pitch[VFN_ADDRESSES], stride[VFN_ADDRESSES][3];
};

/* False if the view is empty or no plane. */
bool pl_plane_of(const struct pl_view *v, struct pl_plane *plane);
/* Gives a view its number; 0 if it is not a plane of aligned rows in VMEM or ACC, wherever it begins. */
uint32_t vfn_form(const struct pl_context *c, struct pl_view *v);
/* Whether two views of one buffer have a part in common and are not the same; one is stored to. */
PL_COLD bool vfn_overlap(const struct pl_view *a, const struct pl_view *b);
/* Queues the command over refs that fit. */
void vfn_queue(struct pl_context *c, const struct vfn_record *r, const pl_ref *refs,
               const pl_scalar *scalars);
/* A launch of which not everything is known: checks all, and keeps a record if there can be one. */
void vfn_launch(struct pl_context *c, pl_vector_fn *fn, const pl_ref *refs, const pl_scalar *scalars,
                uint32_t counts);
/* The same, but nothing outside these rows and columns of the result is stored, and no record is kept. */
void vfn_launch_bounded(struct pl_context *c, pl_vector_fn *fn, const pl_ref *refs, int32_t rows,
                        int32_t columns);
/* Room for the record of a launch over refs whose forms are known. */
struct vfn_record *vfn_record_for(const struct pl_context *c, const pl_vector_fn *fn, const pl_ref *refs);
/* Launches with a record of usable refs' forms; false if there is none. */
bool vfn_again(struct pl_context *c, pl_vector_fn *fn, const pl_ref *refs, const pl_scalar *scalars);

#endif

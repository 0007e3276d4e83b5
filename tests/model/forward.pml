/*
 * Entries that move at once from their first homes to their second ones, the second rule of
 * filter-daemon/src/kernel/live.rs, on a processor with total store order: stores wait in a buffer and reach memory
 * in the order in which they were made.
 *
 * The newcomer takes the place of Near, which takes the place of Far, which takes a free one. Each is copied before it
 * is overwritten.
 */

#define KEYS 4
#define WORDS 4
#define NEWCOMER 1
#define NEAR 2
#define FAR 3

#ifdef ENTRIES_MOVE_BACK
#define FIRST(key) (key == NEWCOMER -> 0 : (key == NEAR -> 1 : 2))
#define SECOND(key) (key == NEWCOMER -> 3 : (key == NEAR -> 0 : 1))
#else
#define FIRST(key) (key == NEWCOMER -> 0 : (key == NEAR -> 0 : 1))
#define SECOND(key) (key == NEWCOMER -> 3 : (key == NEAR -> 1 : 2))
#endif

#ifndef LOADS_IN_ANY_ORDER
#define LOADS_IN_ORDER
#endif

#include "readers.pml"

/* Stores on their way to memory: which word, and what it is to hold. */
#define DEPTH 3
chan buffer = [DEPTH] of { byte, byte };

inline set_up()
{
    store(0, NEAR, 0); store(1, FAR, 0);
    listed = (watched == NEWCOMER -> MUST_NOT_FIND : MUST_FIND)
}

/* Empties the buffer, whether the daemon lives or not. */
proctype processor()
{
    byte word, key;

end:
    do
#ifdef STORES_IN_ANY_ORDER
    :: atomic { buffer ?? [word, NEWCOMER] -> buffer ?? word, NEWCOMER; store(word, NEWCOMER, 0); word = 0 }
    :: atomic { buffer ?? [word, NEAR] -> buffer ?? word, NEAR; store(word, NEAR, 0); word = 0 }
#endif
    :: atomic { buffer ? word, key -> store(word, key, 0); word = 0; key = 0 }
    od
}

proctype daemon()
{
    run processor();
    {
        asked_about(NEWCOMER);
#ifdef ERASED_BEFORE_IT_IS_COPIED
        buffer ! 0, NEWCOMER;
        buffer ! 1, NEAR;
        buffer ! 2, FAR;
#else
        buffer ! 2, FAR;
        buffer ! 1, NEAR;
        buffer ! 0, NEWCOMER;
#endif
        /* The answer goes out by way of the kernel, behind all stores. */
        empty(buffer);
        answered_about(NEWCOMER, MUST_FIND);
        /* Far leaves, and comes again into the same place. */
        asked_about(FAR);
        buffer ! 2, 0;
        empty(buffer);
        answered_about(FAR, MUST_NOT_FIND);
        asked_about(FAR);
        buffer ! 2, FAR;
        empty(buffer);
        answered_about(FAR, MUST_FIND)
    } unless { is_killed }
}

init { start() }

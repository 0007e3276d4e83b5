/*
 * A batch, the third rule of filter-daemon/src/kernel/live.rs, while requests come and go.
 *
 * The newcomer finds its homes full and waits in the stash. The batch moves Back from its second home to its first,
 * and Forth from its first home to its second, to let it in. Late comes while that is under way: one of its homes is
 * full, and the other one the batch is about to overwrite. On ordered memory it makes Other move on, by the second
 * rule.
 */

#define KEYS 6
#define WORDS 5
#define NEWCOMER 1
#define BACK 2
#define FORTH 3
#define LATE 4
#define OTHER 5
/* Somebody who stays. */
#define RESIDENT 9

#define FIRST(key) (key == NEWCOMER -> 0 : (key == BACK || key == FORTH -> 1 : 3))
#define SECOND(key) (key == NEWCOMER -> 1 : (key == BACK -> 0 : (key == FORTH || key == LATE -> 2 : 4)))

#include "readers.pml"

/* Requests that come after the batch has begun. */
#ifndef REQUESTS
#define REQUESTS 2
#endif

#define CALM 0
#define COPIED 1
#define WRITTEN 2

byte phase;
bit is_in[KEYS];
/* What the batch is about to store; and whom it will take out of the stash at its end. */
byte plan[2 * WORDS];
bit is_of_batch[KEYS];
bit is_stored[3];
byte requests;

inline set_up()
{
    store(0, BACK, RESIDENT); store(1, FORTH, RESIDENT); store(3, OTHER, RESIDENT); store(4, 0, RESIDENT);
    is_in[BACK] = 1; is_in[FORTH] = 1; is_in[OTHER] = 1;
    listed = (is_in[watched] -> MUST_FIND : MUST_NOT_FIND)
}

inline put_aside(key)
{
    if
    :: !stashed[key] ->
        if
        :: stashed[key] = 1; hot++
        :: hot++; stashed[key] = 1
        fi
    :: stashed[key]
    fi
}

inline take_from_stash(key)
{
    if
    :: stashed[key] ->
        if
        :: stashed[key] = 0; hot--
        :: hot--; stashed[key] = 0
        fi
    :: !stashed[key]
    fi
}

#ifdef NEWCOMER_IN_A_PLANNED_WORD
#define may_take(word) true
#else
#define may_take(word) (phase != COPIED || word > 2)
#endif
#define is_free(at) (may_take((at) / 2) && lane[at] == 0)

inline add(key)
{
    asked_about(key);
    if
    :: is_free(2 * FIRST(key)) -> lane[2 * FIRST(key)] = key
    :: is_free(2 * FIRST(key) + 1) -> lane[2 * FIRST(key) + 1] = key
    :: is_free(2 * SECOND(key)) -> lane[2 * SECOND(key)] = key
    :: is_free(2 * SECOND(key) + 1) -> lane[2 * SECOND(key) + 1] = key
#ifdef LOADS_IN_ORDER
    :: key == LATE && lane[6] == OTHER && is_free(8) -> lane[8] = OTHER; lane[6] = LATE
#endif
    :: else -> put_aside(key)
    fi;
    atomic { is_in[key] = 1; answered_about(key, MUST_FIND) }
}

#define struck(at, key) (plan[at] == key -> 0 : plan[at])
#define cleared(at, key) (lane[at] == key -> 0 : lane[at])

inline remove(key)
{
    asked_about(key);
#ifndef REMOVAL_FORGETS_THE_PLAN
    d_step {
        plan[0] = struck(0, key); plan[1] = struck(1, key); plan[2] = struck(2, key);
        plan[3] = struck(3, key); plan[4] = struck(4, key); plan[5] = struck(5, key)
    };
#endif
#ifndef REMOVAL_FORGETS_THE_BATCH
    is_of_batch[key] = 0;
#endif
    lane[2 * FIRST(key)] = cleared(2 * FIRST(key), key);
    lane[2 * FIRST(key) + 1] = cleared(2 * FIRST(key) + 1, key);
    lane[2 * SECOND(key)] = cleared(2 * SECOND(key), key);
    lane[2 * SECOND(key) + 1] = cleared(2 * SECOND(key) + 1, key);
#ifndef REMOVAL_FORGETS_THE_STASH
    take_from_stash(key);
#endif
    atomic { is_in[key] = 0; answered_about(key, MUST_NOT_FIND) }
}

inline any_request()
{
    atomic { requests++; select(chosen : 1 .. KEYS - 1) };
    if
    :: is_in[chosen] -> remove(chosen)
    :: !is_in[chosen] -> add(chosen)
    fi
}

/* Plans, and copies whom the plan moves. One call of `begin`: no request comes between. */
inline begin_batch()
{
    d_step {
        plan[0] = NEWCOMER; plan[1] = RESIDENT;
        plan[2] = BACK; plan[3] = RESIDENT;
        plan[4] = FORTH;
        is_of_batch[NEWCOMER] = 1; is_of_batch[BACK] = 1; is_of_batch[FORTH] = 1
    };
#ifndef NOBODY_IS_COPIED
    if
    :: put_aside(BACK); put_aside(FORTH)
    :: put_aside(FORTH); put_aside(BACK)
    fi;
#endif
    atomic { phase = COPIED; begin_grace_period() }
}

#ifdef WITHOUT_THE_FIRST_GRACE_PERIOD
#define may_write true
#else
#define may_write is_grace_period_over
#endif
#ifdef WITHOUT_THE_SECOND_GRACE_PERIOD
#define may_clear true
#else
#define may_clear is_grace_period_over
#endif

/* In any order. */
inline write()
{
    do
    :: atomic { !is_stored[0] -> is_stored[0] = 1; store(0, plan[0], plan[1]) }
    :: atomic { !is_stored[1] -> is_stored[1] = 1; store(1, plan[2], plan[3]) }
    :: atomic { !is_stored[2] -> is_stored[2] = 1; store(2, plan[4], plan[5]) }
    :: is_stored[0] && is_stored[1] && is_stored[2] -> break
    od;
    atomic { phase = WRITTEN; begin_grace_period() }
}

/* In any order. */
inline clear()
{
    do
    :: is_of_batch[NEWCOMER] -> take_from_stash(NEWCOMER); is_of_batch[NEWCOMER] = 0
    :: is_of_batch[BACK] -> take_from_stash(BACK); is_of_batch[BACK] = 0
    :: is_of_batch[FORTH] -> take_from_stash(FORTH); is_of_batch[FORTH] = 0
    :: !is_of_batch[NEWCOMER] && !is_of_batch[BACK] && !is_of_batch[FORTH] -> break
    od;
    phase = CALM
}

proctype daemon()
{
    byte chosen;

    {
        add(NEWCOMER);
        begin_batch();
        do
        :: requests < REQUESTS -> any_request()
        :: phase == COPIED && may_write -> write()
        :: phase == WRITTEN && may_clear -> clear()
        :: phase == CALM && requests == REQUESTS -> break
        od
    } unless { is_killed }
}

init { start() }

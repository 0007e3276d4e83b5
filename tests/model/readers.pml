/*
 * What the models share: packets that look for a key, grace periods, and the daemon that comes after a crash.
 *
 * A model that includes this says which keys there are, where their homes are, and how many words the table has. One
 * key, chosen at the start, is watched. A packet that begins while it is listed must find it, and one that begins while
 * it is not must not. While a request about it is under way either is right: packets that meet one are of no interest
 * any more, and leave.
 */

#define EITHER 0
#define MUST_FIND 1
#define MUST_NOT_FIND 2

/* Words of two lanes: a load reads both at once, and a store replaces both. */
byte lane[2 * WORDS];
/* The stash: who is in it, and the hot word. */
bit stashed[KEYS];
byte hot;

byte watched;
byte listed;

/* Three packets: under way in this daemon's tables, and what they have loaded without finding the key. */
bit inside[3];
bit did_first[3];
bit did_second[3];
bit saw_hot[3];
bit saw_stashed[3];
/* Those that the grace period under way waits for. */
bit awaited[3];

/* The slot in the program array: is the next daemon's judge in it? And does its table hold the watched key? */
bit is_next_published;
bit next_holds;
bit is_killed;
bit is_freed;

#define stands(word, key) (lane[2 * (word)] == key || lane[2 * (word) + 1] == key)

inline store(word, left, right)
{
    d_step { lane[2 * (word)] = left; lane[2 * (word) + 1] = right }
}

inline leave(packet)
{
    did_first[packet] = 0; did_second[packet] = 0; saw_hot[packet] = 0; saw_stashed[packet] = 0;
    awaited[packet] = 0; inside[packet] = 0
}

inline asked_about(key)
{
    if
    :: key == watched -> d_step { listed = EITHER; leave(0); leave(1); leave(2) }
    :: key != watched
    fi
}

inline answered_about(key, expected)
{
    if
    :: key == watched -> listed = expected
    :: key != watched
    fi
}

inline begin_grace_period()
{
    d_step { awaited[0] = inside[0]; awaited[1] = inside[1]; awaited[2] = inside[2] }
}

/*
 * What one packet does another could have done as well, so it is enough to look at them in one order: those that are under way
 * first, and among these by what they have loaded. Whom a grace period waits for matters least, so that its begin, which
 * awaits all that are under way, leaves them in order.
 */
#define rank(packet) (inside[packet] << 5 | did_first[packet] << 4 | did_second[packet] << 3 | \
    saw_hot[packet] << 2 | saw_stashed[packet] << 1 | awaited[packet])

#define swap_bit(bits, one, other) swapped = bits[one]; bits[one] = bits[other]; bits[other] = swapped

inline order(one, other)
{
    if
    :: rank(one) < rank(other) ->
        swap_bit(inside, one, other); swap_bit(did_first, one, other); swap_bit(did_second, one, other);
        swap_bit(saw_hot, one, other); swap_bit(saw_stashed, one, other); swap_bit(awaited, one, other);
        swapped = 0
    :: else
    fi
}

inline order_all() { d_step { order(0, 1); order(1, 2); order(0, 1) } }

#define is_grace_period_over (!awaited[0] && !awaited[1] && !awaited[2])

/* One word after the other: in the order of the program, or in any. */
#ifdef LOADS_IN_ORDER
#define after_first(packet)   did_first[packet]
#define after_second(packet)  did_second[packet]
#define after_hot(packet)     saw_hot[packet]
#else
#define after_first(packet)   true
#define after_second(packet)  true
#define after_hot(packet)     true
#endif

/* Hot but not stashed, or stashed but not hot: either way the stash has nothing. */
#define missed_stash(packet)  (saw_hot[packet] && saw_stashed[packet])

/* It is in the stash if the hot word is not zero and a way has it. If one of the two says no, the other is not asked. */
inline look_into_stash(says_yes, saw_this, saw_other)
{
    if
    :: says_yes && saw_other -> found = 1
    :: says_yes && !saw_other -> saw_this = 1
    :: !(says_yes) -> saw_this = 1; saw_other = 1
    fi
}

proctype reader(byte me)
{
    bit found;
    bit swapped;

end:
    do
    /* Packets are all alike: a new one takes the first place that is free. */
    :: atomic { !inside[me] && (me == 0 || inside[0]) && (me < 2 || inside[1]) && listed != EITHER ->
            if
            :: is_next_published -> assert(next_holds == (listed == MUST_FIND))
            :: !is_next_published -> inside[me] = 1; order_all()
            fi }
    :: atomic { inside[me] ->
            assert(!is_freed);
            if
            :: !did_first[me] -> did_first[me] = 1; found = stands(FIRST(watched), watched)
            :: !did_second[me] && after_first(me) -> did_second[me] = 1; found = stands(SECOND(watched), watched)
            :: !saw_hot[me] && after_second(me) -> look_into_stash(hot > 0, saw_hot[me], saw_stashed[me])
            :: !saw_stashed[me] && after_hot(me) -> look_into_stash(stashed[watched], saw_stashed[me], saw_hot[me])
            fi;
            if
            :: found -> assert(listed == MUST_FIND); leave(me)
            :: !found && did_first[me] && did_second[me] && missed_stash(me) ->
                assert(listed == MUST_NOT_FIND); leave(me)
            :: else
            fi;
            found = 0;
            order_all() }
    od
}

/*
 * Comes at any step of a daemon that is killed there. What that one was about to do nobody does any more; what it had
 * acknowledged is durable. Until the next tables are full and published packets meet those of before.
 */
proctype next_daemon()
{
#ifdef PUBLISHED_BEFORE_IT_IS_FILLED
    atomic { is_killed = 1; is_next_published = 1 };
#endif
    atomic {
        is_killed = 1;
        if
        :: listed != MUST_NOT_FIND -> next_holds = 1
        :: listed != MUST_FIND
        fi;
        is_next_published = 1;
        listed = (next_holds -> MUST_FIND : MUST_NOT_FIND);
        begin_grace_period()
    };
#ifndef FREED_WITHOUT_A_GRACE_PERIOD
    is_grace_period_over;
#endif
    is_freed = 1
}

inline start()
{
    atomic {
        select(watched : 1 .. KEYS - 1);
        set_up();
        run reader(0); run reader(1); run reader(2);
        run daemon(); run next_daemon()
    }
}

/*
 * Whole reloads under running packets: targets, allowed ones and settings go from an old state to a new one, store by
 * store, and a packet may be judged between any two of them.
 *
 * Two promises: no packet is let through whose source both states block, and none is dropped whose source both let
 * pass. A reload that is refused on the way goes back under the same two, a daemon that is killed leaves what it did to
 * the next one, and without grace periods whole new tables are published by one store.
 *
 * One source is watched, in several structures that can cover it. IPv4: its /24, behind a summary that a neighbouring
 * /24 shares, and its address, in either home or in the stash. IPv6 (SIX): its /64, asked first, and two other lengths.
 * Two targets of the allow set cover it, too. What one packet does never matters to another: a grace period that waits
 * for others only comes later. So one packet is enough, which begins at any moment.
 *
 * Stores between two grace periods are made in any order. That includes the one order in which a store buffer lets them
 * out, and publishing and grace periods are calls into the kernel, before which it is empty.
 */

/* A state: what is blocked, what is allowed, and whether blocked ones are dropped or only counted. */
#ifdef SIX
#define NET64 1
#define SHORTER 2
#define LONGER 4
#define COVERING (NET64 | SHORTER | LONGER)
#else
#define SLASH24 1
#define ADDRESS 2
#define NEIGHBOUR 4
#define COVERING (SLASH24 | ADDRESS)
#endif
#define ALLOWED 8
#define ALLOWED_ELSE 16
#define ENFORCE 32

#define blocks(state) (((state) & ENFORCE) && ((state) & COVERING) && !((state) & (ALLOWED | ALLOWED_ELSE)))

/*
 * A judge: ENFORCE, whether it asks what is allowed (ALLOWED), which blocked ones it asks for, and where its tables
 * are. FRESH: its addresses or IPv6 prefixes are in a table of its own, the rest is shared. WHOLE: nothing is shared.
 */
#define FRESH 64
#define WHOLE 128

/* What is asked on account of other sources, whatever becomes of the watched one: nothing, or everything. */
byte others;

#ifdef SIX
#define asks_blocked(state) (((state) | others) & COVERING)
#else
#define asks_blocked(state) \
    ((((state) | others) & COVERING) | (((state) & NEIGHBOUR) -> SLASH24 : 0))
#endif
#define asks_allowed(state) ((((state) | others) & (ALLOWED | ALLOWED_ELSE)) -> ALLOWED : 0)
#define judge_of(state) (((state) & ENFORCE) | asks_blocked(state) | asks_allowed(state))

/* The words that packets load, in the order of the program. For IPv6 the first three are one for each length. */
#define SUMMARY 0
#define BIT 1
#define FIRST 2
#define SECOND 3
#define HOT 4
#define STASHED 5
#define ALLOW 6
#define ALLOW_ELSE 7
#define WORDS 8

#ifdef SIX
#define is_in_table(at) ((at) < 3)
#else
#define is_in_table(at) ((at) >= FIRST && (at) <= STASHED)
#endif

/* Shared and old ones, a fresh table, whole new ones. */
bit word[3 * WORDS];
#define place(judge, at) \
    ((((judge) & WHOLE) -> 2 * WORDS : (((judge) & FRESH) && is_in_table(at) -> WORDS : 0)) + (at))

/* Is the neighbouring /24 blocked? Only its share in the summary is ever seen. */
bit neighbour;

/* The slot in the program array. */
byte slot;

byte old;
byte new;

/* What the daemon is about: the new state, or the old one again after a refusal. */
byte goal;
bit is_refused;
bit is_fresh;
bit is_over;
byte reloads;

/* Reloads in a row. */
#ifndef RELOADS
#define RELOADS 1
#endif

/* Has anything been let go of that the old state blocks? */
bit has_let_go;

/* What was done since the last grace period. */
bit loosened_lately;
bit allowed_lately;
bit added_lately;
bit removed_lately;

/*
 * The packet: its judge, what it has loaded, and what may become of it. It guesses what that will be, only such things as
 * could be wrong, and leaves when it meets anything else: so what does not matter to its fate need not be remembered.
 */
#define MISSES 0
#define IS_ALLOWED 1
#define IS_HIT 2
byte fate;
bit inside;
bit awaited;
byte mine;
bit is_taken;
bit did[WORDS];
bit is_hit;
bit is_allowed;
bit may_drop;
bit may_pass;
/* Nothing but letting go of a target makes it pass. */
bit is_kept;

/* What comes after it is of no interest. */
inline leave()
{
    d_step {
        inside = 0; awaited = 0; mine = 0; fate = 0; is_taken = 0; is_hit = 0; is_allowed = 0; is_over = 1;
        did[0] = 0; did[1] = 0; did[2] = 0; did[3] = 0; did[4] = 0; did[5] = 0; did[6] = 0; did[7] = 0
    }
}

#define did_blocked (did[0] && did[1] && did[2] && did[3] && did[4] && did[5])
#define did_allowed (did[ALLOW] && did[ALLOW_ELSE])

#define passes (fate == MISSES && did_blocked || fate == IS_ALLOWED && is_allowed)

inline asks_no_more_blocked() { did[0] = 1; did[1] = 1; did[2] = 1; did[3] = 1; did[4] = 1; did[5] = 1 }

/* One word after the other: in the order of the program, or in any. */
#ifdef LOADS_IN_ORDER
#define after(at) ((at == 0 || did[0]) && (at <= 1 || did[1]) && (at <= 2 || did[2]) && (at <= 3 || did[3]) && \
    (at <= 4 || did[4]) && (at <= 5 || did[5]) && (at <= 6 || did[6]))
#else
#define after(at) true
#endif
#define may_load(at) (inside && !did[at] && after(at))
#define loads(at) word[place(mine, at)]

/* Whoever is to be hit need not remember where it was not: it could have come there later, or never. */
inline note_miss(at)
{
#ifdef LOADS_IN_ORDER
    did[at] = 1
#else
    if
    :: fate == MISSES -> did[at] = 1
    :: else
    fi
#endif
}

/* The packet is blocked if one of these words says so. */
inline load_one(at)
{
    if
    :: loads(at) -> is_hit = 1
    :: !loads(at) -> note_miss(at)
    fi
}

/* It is if both of these do. If one says no, the other is not asked. */
inline load_half(at, other)
{
    if
    :: loads(at) && did[other] -> is_hit = 1
    :: loads(at) && !did[other] -> did[at] = 1
    :: !loads(at) -> note_miss(at); note_miss(other)
    fi
}

inline load_allowed(at)
{
    did[at] = 1;
    if
    :: loads(at) -> is_allowed = 1
    :: !loads(at)
    fi
}

/* Until a first target is let go of, the old state without what was loosened blocks as before. */
#define loosest ((old & new & ENFORCE) | (old & COVERING) | ((old | new) & (ALLOWED | ALLOWED_ELSE)))

/* Either is right. */
#define is_free (may_drop && may_pass && (!is_kept || has_let_go))

inline conclude()
{
    if
    :: is_hit -> asks_no_more_blocked()
    :: !is_hit
    fi;
    if
    :: is_free || (fate == MISSES && is_hit) || (fate == IS_HIT && is_allowed) -> leave()
    :: inside && !is_free && !is_hit && is_taken && passes ->
        assert(may_pass);
        assert(!is_kept || has_let_go);
        leave()
    :: !is_free && is_taken && is_hit && fate == IS_HIT && !is_allowed && did_allowed ->
        assert(may_drop);
        leave()
    :: else
    fi
}

inline skip_what_it_does_not_ask()
{
#ifdef SIX
    did[0] = !(mine & NET64); did[1] = !(mine & SHORTER); did[2] = !(mine & LONGER);
    did[3] = 1; did[4] = 1; did[5] = 1;
#else
    did[SUMMARY] = !(mine & SLASH24); did[BIT] = did[SUMMARY];
    did[FIRST] = !(mine & ADDRESS); did[SECOND] = did[FIRST]; did[HOT] = did[FIRST]; did[STASHED] = did[FIRST];
#endif
#ifdef SIX
    did[ALLOW_ELSE] = !(mine & ALLOWED);
#else
    did[ALLOW_ELSE] = 1;
#endif
    did[ALLOW] = !(mine & ALLOWED)
}

/* To pass is wrong, or to be dropped is. If hits are only counted it passes whatever it loads. */
#define may_not_pass (!may_pass || is_kept)

inline guess()
{
    if
    :: may_not_pass ->
        fate = MISSES; did[ALLOW] = 1; did[ALLOW_ELSE] = 1;
        if
        :: !(mine & ENFORCE) -> asks_no_more_blocked()
        :: else
        fi
    :: may_not_pass && (mine & ALLOWED) -> fate = IS_ALLOWED; asks_no_more_blocked()
    :: !may_drop && (mine & ENFORCE) -> fate = IS_HIT
    :: !may_not_pass && (may_drop || !(mine & ENFORCE)) -> leave()
    fi
}

proctype packet()
{
    atomic {
        inside = 1;
        may_drop = blocks(old) || blocks(new);
        may_pass = !blocks(old) || !blocks(new);
        is_kept = RELOADS == 1 && blocks(loosest);
        if
        :: mine = slot; is_taken = 1
#ifdef SLOT_IN_ANY_ORDER
        /* A processor may guess where the jump goes, load ahead, and learn afterwards that it was right. */
        :: mine = judge_of(new)
#endif
        fi;
        skip_what_it_does_not_ask();
        guess();
        conclude()
    }
end:
    do
    :: atomic { inside && !is_taken && slot == mine -> is_taken = 1; conclude() }
    :: atomic { inside && (!is_taken || fate != MISSES) -> leave() }
#ifdef SIX
    :: atomic { may_load(0) -> load_one(0); conclude() }
    :: atomic { may_load(1) -> load_one(1); conclude() }
    :: atomic { may_load(2) -> load_one(2); conclude() }
#else
    :: atomic { may_load(SUMMARY) -> load_half(SUMMARY, BIT); conclude() }
    :: atomic { may_load(BIT) -> load_half(BIT, SUMMARY); conclude() }
    :: atomic { may_load(FIRST) -> load_one(FIRST); conclude() }
    :: atomic { may_load(SECOND) -> load_one(SECOND); conclude() }
    :: atomic { may_load(HOT) -> load_half(HOT, STASHED); conclude() }
    :: atomic { may_load(STASHED) -> load_half(STASHED, HOT); conclude() }
#endif
    :: atomic { may_load(ALLOW) -> load_allowed(ALLOW); conclude() }
    :: atomic { may_load(ALLOW_ELSE) -> load_allowed(ALLOW_ELSE); conclude() }
    od
}

/* What the daemon has written, published or not. */
#define at_work(at) ((is_fresh && is_in_table(at) -> WORDS : 0) + (at))
#define has(at) word[at_work(at)]
#define lacks(target, at) ((goal & (target)) && !has(at))
#define holds_on(target, at) (!(goal & (target)) && has(at))

/* The judges on the way: first what lets more pass, then what asks for more, at the end what is wanted. */
#define without(setting) (slot & (255 - (setting)))

#ifdef COUNTED_LAST
#define enforces_first (slot & ENFORCE)
#elif defined(ENFORCED_FIRST)
#define enforces_first (goal & ENFORCE)
#else
#define enforces_first (slot & goal & ENFORCE)
#endif
#ifdef ALLOW_ASKED_LAST
#define asks_allowed_first (slot & ALLOWED)
#elif defined(ALLOW_SWITCHED_OFF_FIRST)
#define asks_allowed_first asks_allowed(goal)
#else
#define asks_allowed_first ((slot & ALLOWED) | asks_allowed(goal))
#endif
#define loosened (without(ENFORCE | ALLOWED) | enforces_first | asks_allowed_first)

#ifdef SWITCHED_ON_LAST
#define asks_both (slot & COVERING)
#elif defined(SWITCHED_OFF_FIRST)
#define asks_both asks_blocked(goal)
#else
#define asks_both ((slot & COVERING) | asks_blocked(goal))
#endif
#define widened (without(COVERING) | asks_both | (is_fresh -> FRESH : 0))

#define final ((slot & FRESH) | judge_of(goal))

#define is_allow_added (!lacks(ALLOWED, ALLOW) && !lacks(ALLOWED_ELSE, ALLOW_ELSE))
#define is_loosened (slot == loosened)
#ifdef ALLOW_ADDED_LAST
#define is_loose is_loosened
#else
#define is_loose (is_loosened && is_allow_added)
#endif

#ifdef SIX
#define is_something_lacking (lacks(NET64, 0) || lacks(SHORTER, 1) || lacks(LONGER, 2))
#define is_something_left (holds_on(NET64, 0) || holds_on(SHORTER, 1) || holds_on(LONGER, 2))
#define is_table_lacking is_something_lacking
#define is_table_left is_something_left
#else
#define is_address_in (has(FIRST) || has(SECOND) || (has(HOT) && has(STASHED)))
#define is_table_lacking ((goal & ADDRESS) && !is_address_in)
#define is_table_left (!(goal & ADDRESS) && (has(FIRST) || has(SECOND) || has(HOT) || has(STASHED)))
#define is_summary_lacking ((goal & (SLASH24 | NEIGHBOUR)) && !has(SUMMARY))
#define is_summary_left (!(goal & (SLASH24 | NEIGHBOUR)) && has(SUMMARY))
#define is_something_lacking (is_table_lacking || is_summary_lacking || lacks(SLASH24, BIT) || \
    ((goal & NEIGHBOUR) && !neighbour))
#define is_something_left (is_table_left || is_summary_left || holds_on(SLASH24, BIT) || \
    (!(goal & NEIGHBOUR) && neighbour))
#endif

#define is_added (!is_something_lacking && slot == widened)
#define is_removed (!is_something_left)

/*
 * Additions wait for every packet that may not have seen what was loosened, removals for those that may not have seen
 * what was added, and what tightens for those that may not have seen what was loosened or removed; whichever reload it
 * was that loosened, added or removed.
 */
#define is_loosening_seen (!loosened_lately && !allowed_lately)
#ifdef NO_GRACE_AFTER_LOOSENING
#define may_add true
#elif defined(NO_GRACE_AFTER_ALLOWING)
#define may_add (!loosened_lately)
#else
#define may_add is_loosening_seen
#endif
#ifdef NO_GRACE_AFTER_ADDITIONS
#define are_additions_seen true
#elif defined(RELEASED_AT_ONCE)
#define are_additions_seen (!added_lately || (is_refused && !has_let_go))
#else
#define are_additions_seen (!added_lately)
#endif
#ifdef NO_GRACE_AFTER_REMOVALS
#define are_removals_seen true
#elif defined(NO_GRACE_IN_A_ROLLBACK)
#define are_removals_seen (!removed_lately || is_refused)
#else
#define are_removals_seen (!removed_lately)
#endif
#ifdef NO_GRACE_BEFORE_ENFORCING
#define may_tighten_settings true
#else
#define may_tighten_settings (are_removals_seen && is_loosening_seen)
#endif

#ifdef REMOVALS_FIRST
#define adds (is_loose && is_removed && may_add)
#define removes (is_loose && !is_removed && are_additions_seen)
#else
#define adds (is_loose && !is_added && may_add)
#define removes (is_loose && is_added && !is_removed && are_additions_seen)
#endif
#define is_settled (is_loose && is_added && is_removed)
#ifdef ALLOW_REMOVED_FIRST
#define removes_allowed (is_loose && is_added && are_removals_seen && is_loosening_seen)
#elif defined(LOOSENING_FORGOTTEN_AT_THE_END)
#define removes_allowed (is_settled && are_removals_seen)
#else
#define removes_allowed (is_settled && are_removals_seen && is_loosening_seen)
#endif
#ifdef ALLOW_ADDED_LAST
#define adds_allowed (is_settled)
#else
#define adds_allowed true
#endif

#define is_tight (slot == final && !holds_on(ALLOWED, ALLOW) && !holds_on(ALLOWED_ELSE, ALLOW_ELSE))

/* A grace period is waited for only where the next step needs one. */
#define waits ((is_loose && !is_added && !is_loosening_seen) || \
    (is_loose && is_added && !is_removed && !are_additions_seen) || \
    (is_settled && !is_tight && !(is_loosening_seen && are_removals_seen)))

#define is_done (is_settled && is_allow_added && is_tight)

/* What stands in a table that is not published is seen with the store that publishes it. */
#ifdef NO_GRACE_AFTER_PUBLISHING
#define counts_as_added(at) (at_work(at) == place(slot, at))
#define counts_as_published false
#else
#define counts_as_added(at) true
#define counts_as_published true
#endif

inline allow(at) { d_step { word[at] = 1; allowed_lately = 1 } }
inline add(at) { d_step { word[at_work(at)] = 1; added_lately = added_lately || counts_as_added(at) } }
inline remove(at) { d_step { word[at_work(at)] = 0; removed_lately = 1; has_let_go = has_let_go || !is_refused } }

/* A table with room for old and new, beside the one in use. */
inline make_fresh()
{
    d_step {
#ifndef FRESH_TABLE_IS_EMPTY
#ifdef SIX
        word[WORDS] = word[0]; word[WORDS + 1] = word[1]; word[WORDS + 2] = word[2];
#else
        word[WORDS + FIRST] = word[FIRST]; word[WORDS + SECOND] = word[SECOND];
        word[WORDS + HOT] = word[HOT]; word[WORDS + STASHED] = word[STASHED];
#endif
#endif
        is_fresh = 1
    }
}

/* A smaller table, without what leaves: that leaves with the store that publishes it. */
inline shrink()
{
    d_step {
#ifdef SIX
        word[WORDS] = word[0] && (goal & NET64); word[WORDS + 1] = word[1] && (goal & SHORTER);
        word[WORDS + 2] = word[2] && (goal & LONGER);
#else
        word[WORDS + FIRST] = 0; word[WORDS + SECOND] = 0; word[WORDS + HOT] = 0; word[WORDS + STASHED] = 0;
#endif
        is_fresh = 1; slot = slot | FRESH; removed_lately = 1; has_let_go = has_let_go || !is_refused
    }
}

/* Whole new tables: without grace periods, or by the daemon that comes after a crash. */
inline fill_whole()
{
#ifdef SIX
    word[2 * WORDS] = (new & NET64) != 0; word[2 * WORDS + 1] = (new & SHORTER) != 0;
    word[2 * WORDS + 2] = (new & LONGER) != 0;
#else
    word[2 * WORDS + SUMMARY] = (new & (SLASH24 | NEIGHBOUR)) != 0; word[2 * WORDS + BIT] = (new & SLASH24) != 0;
    word[2 * WORDS + FIRST] = (new & ADDRESS) != 0;
#endif
    word[2 * WORDS + ALLOW] = (new & ALLOWED) != 0; word[2 * WORDS + ALLOW_ELSE] = (new & ALLOWED_ELSE) != 0
}

inline replace_all()
{
#ifdef PUBLISHED_BEFORE_IT_IS_FILLED
    slot = WHOLE | judge_of(new);
    d_step { fill_whole(); old = new }
#elif defined(SETTINGS_PUBLISHED_APART)
    slot = (slot & (COVERING | FRESH)) | (new & ENFORCE) | asks_allowed(new);
    d_step { fill_whole(); slot = WHOLE | judge_of(new); old = new }
#else
    d_step { fill_whole(); slot = WHOLE | judge_of(new); old = new }
#endif
}

/*
 * Refused, before or after anything was let go of: back to where it came from, in the same order. As long as nothing
 * was, what came may be released at once.
 */
inline refuse()
{
    d_step {
        is_refused = 1; goal = old;
        if
        :: !(slot & FRESH) -> is_fresh = 0
        :: else
        fi;
#ifdef SETTINGS_BACK_FIRST
        slot = (slot & (COVERING | FRESH)) | (old & ENFORCE) | (slot & ALLOWED)
#endif
#ifdef ROLLBACK_LEAVES_WHAT_CAME
        slot = (slot & FRESH) | judge_of(old) | asks_both; new = old; is_over = 1
#endif
    }
}

inline choose_new()
{
    select(chosen : 0 .. 7);
    new = chosen;
#ifndef SIX
    new = new & (others -> COVERING : 7);
#endif
    if
    :: new = new | ENFORCE
    :: old & ENFORCE
    fi;
    if
    :: true
    :: new = new | ALLOWED
#ifdef SIX
    :: (old & ALLOWED) -> new = new | ALLOWED_ELSE
#endif
    fi;
    goal = new
}

/* The next reload begins; packets under way meet it. */
inline go_on()
{
    reloads++; is_refused = 0;
#ifdef GRACES_FORGOTTEN_BETWEEN_RELOADS
    loosened_lately = 0; allowed_lately = 0; added_lately = 0; removed_lately = 0;
#endif
    choose_new();
    if
    :: inside -> may_drop = may_drop || blocks(new); may_pass = may_pass || !blocks(new)
    :: !inside
    fi
}

proctype daemon()
{
    byte chosen;

    do
#ifndef GRACELESS
    :: atomic { !is_over && adds_allowed && lacks(ALLOWED, ALLOW) -> allow(ALLOW) }
    :: atomic { !is_over && adds_allowed && lacks(ALLOWED_ELSE, ALLOW_ELSE) -> allow(ALLOW_ELSE) }
    :: atomic { !is_over && !is_loosened -> d_step { slot = loosened; loosened_lately = 1 } }

    :: atomic { !is_over && adds && slot != widened ->
            d_step { slot = widened; added_lately = added_lately || counts_as_published } }
    :: atomic { !is_over && adds && is_table_lacking && !is_fresh -> make_fresh() }
#ifdef SIX
    :: atomic { !is_over && adds && lacks(NET64, 0) -> add(0) }
    :: atomic { !is_over && adds && lacks(SHORTER, 1) -> add(1) }
    :: atomic { !is_over && adds && lacks(LONGER, 2) -> add(2) }

    :: atomic { !is_over && removes && holds_on(NET64, 0) -> remove(0) }
    :: atomic { !is_over && removes && holds_on(SHORTER, 1) -> remove(1) }
    :: atomic { !is_over && removes && holds_on(LONGER, 2) -> remove(2) }
#else
    :: atomic { !is_over && adds && is_summary_lacking -> add(SUMMARY) }
    :: atomic { !is_over && adds && has(SUMMARY) && lacks(SLASH24, BIT) -> add(BIT) }
    :: atomic { !is_over && adds && has(SUMMARY) && (goal & NEIGHBOUR) && !neighbour -> neighbour = 1 }
    :: atomic { !is_over && adds && is_table_lacking && !has(HOT) && !has(STASHED) -> add(FIRST) }
    :: atomic { !is_over && adds && is_table_lacking && !has(HOT) && !has(STASHED) -> add(SECOND) }
    :: atomic { !is_over && adds && is_table_lacking && !has(STASHED) -> add(STASHED) }
    :: atomic { !is_over && adds && is_table_lacking && has(STASHED) -> add(HOT) }

    :: atomic { !is_over && removes && holds_on(SLASH24, BIT) -> remove(BIT) }
    :: atomic { !is_over && removes && !(goal & NEIGHBOUR) && neighbour -> neighbour = 0;
#ifdef SUMMARY_FORGETS_NEIGHBOURS
            remove(SUMMARY)
#endif
        }
    :: atomic { !is_over && removes && is_summary_left && !has(BIT) && !neighbour -> remove(SUMMARY) }
    :: atomic { !is_over && removes && holds_on(ADDRESS, FIRST) -> remove(FIRST) }
    :: atomic { !is_over && removes && holds_on(ADDRESS, SECOND) -> remove(SECOND) }
    :: atomic { !is_over && removes && holds_on(ADDRESS, HOT) -> remove(HOT) }
    :: atomic { !is_over && removes && holds_on(ADDRESS, STASHED) -> remove(STASHED) }
#endif
    :: atomic { !is_over && removes && is_table_left && !is_fresh -> shrink() }

    :: atomic { !is_over && removes_allowed && holds_on(ALLOWED, ALLOW) -> word[ALLOW] = 0 }
    :: atomic { !is_over && removes_allowed && holds_on(ALLOWED_ELSE, ALLOW_ELSE) -> word[ALLOW_ELSE] = 0 }
    :: atomic { !is_over && is_settled && may_tighten_settings && slot != final -> slot = final }

    :: atomic { !is_over && waits -> awaited = inside };
        atomic { !awaited -> loosened_lately = 0; allowed_lately = 0; added_lately = 0; removed_lately = 0 }

    :: atomic { !is_over && RELOADS == 1 && !is_refused && !is_done -> refuse() }
    :: atomic { !is_over && is_done && inside && reloads < RELOADS -> old = goal; go_on() }
    :: atomic { !is_over && is_done -> is_over = 1; old = goal; new = goal }
#endif
    /* Killed. The next one's tables are those of the new configuration. */
    :: atomic { !is_over -> is_over = 1; has_let_go = 1 };
        replace_all()
    :: is_over -> break
    od
}

inline set_up()
{
    select(chosen : 0 .. 7);
    old = chosen;
    if
    :: others = COVERING | ALLOWED;
#ifndef SIX
        old = old & COVERING
#endif
    :: true
    fi;
    if
    :: old = old | ENFORCE
    :: true
    fi;
    if
    :: old = old | ALLOWED; word[ALLOW] = 1
    :: true
    fi;
    slot = judge_of(old);
#ifdef SIX
    word[0] = (old & NET64) != 0; word[1] = (old & SHORTER) != 0; word[2] = (old & LONGER) != 0;
#else
    word[SUMMARY] = (old & (SLASH24 | NEIGHBOUR)) != 0; word[BIT] = (old & SLASH24) != 0;
    neighbour = (old & NEIGHBOUR) != 0;
    if
    :: (old & ADDRESS) -> word[FIRST] = 1
#ifdef LOADS_IN_ORDER
    :: (old & ADDRESS) -> word[SECOND] = 1
#endif
    :: (old & ADDRESS) -> word[HOT] = 1; word[STASHED] = 1
    :: !(old & ADDRESS)
    fi;
#endif
    reloads = 1;
    choose_new()
}

init
{
    byte chosen;

    atomic { set_up(); run packet(); run daemon() }
}

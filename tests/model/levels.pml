/*
 * IPv6 from the top (filter-common/levels) under a running packet: prefixes come and go in any order, one store after the
 * other, and the packet may load any word between any two of them.
 *
 * One source is watched. Its /14 has a word in the root, its /24 one in a page, its /32 two bits in a node, and each prefix
 * around it that stands in the table an entry of its own. Others share these words and do not cover it: one of another /32
 * of its /24, one of another /24 of its /14, and those of another /14, at the same places of pages and nodes of their own.
 * (How entries of the table move is in batch.pml.)
 *
 * The promise: a packet that comes while the source is listed, and goes while it still is, finds it, whatever covers it
 * meanwhile; and one that comes and goes while it is not listed does not. What one packet does never matters to another: a
 * grace period that waits for others only comes later. So one packet is enough, which begins at any moment.
 */

/* Around the source. The two first share a bit, and so do both of the node. */
#define SLASH12 0
#define SLASH14 1
#define SLASH20 2
#define SLASH29 3
#define SLASH32 4
#define SLASH36 5
#define SLASH48 6
#define SLASH64 7
/* Not around it: a /48 in its /24, a /20 in its /14, and two in another /14. */
#define NEAR 8
#define BESIDE 9
#define FAR20 10
#define FAR32 11
#define TARGETS 12

#define is_of_root(target) ((target) <= SLASH14)
#define is_of_page(target) ((target) == SLASH20 || (target) == BESIDE || (target) == FAR20)
#define is_of_node(target) ((target) == SLASH29 || (target) == SLASH32 || (target) == FAR32)
#define covers(target) ((target) <= SLASH64)

/* Which of them there are: all together have too many states. */
#define one(target) (1 << (target))
#ifdef WIDE
#define WHO (one(SLASH12) | one(SLASH14) | one(SLASH20) | one(SLASH48))
#elif defined(DEEP)
#define WHO (one(SLASH20) | one(SLASH29) | one(SLASH32) | one(SLASH48))
#elif defined(CLASSED)
#define WHO (one(SLASH32) | one(SLASH36) | one(SLASH48) | one(NEAR))
#elif defined(CLASSED_DEEPER)
#define WHO (one(SLASH36) | one(SLASH48) | one(SLASH64))
#elif defined(BESIDES)
#define WHO (one(SLASH48) | one(SLASH64) | one(NEAR) | one(BESIDE))
#elif defined(ELSEWHERE)
#define WHO (one(SLASH48) | one(NEAR) | one(FAR20) | one(FAR32))
#endif
#define may_be(target) (WHO >> (target) & 1)

/* Requests after the first state, which is any. */
#ifndef REQUESTS
#define REQUESTS 3
#endif

/* What the table is asked for: prefixes of /20, /29, /32, /36, /48, /64 around the source. */
#define LENGTHS 6
#define LENGTH36 3
#define LENGTH48 4
#define LENGTH64 5
#define length(target) \
    ((target) == NEAR -> LENGTH48 : (is_of_page(target) -> 0 : ((target) == FAR32 -> 2 : (target) - SLASH20)))

/* Of the /32 in a classed node: which of them are asked for (filter-common/levels/class). */
#define ANY 0
#define KEEPS_36 1
#define KEEPS_48 2
#define KEEPS_48_AND_64 3
#define kept(class) (class == ANY -> 63 : (class == KEEPS_36 -> 1 << LENGTH36 : \
    (class == KEEPS_48 -> 1 << LENGTH48 : 1 << LENGTH48 | 1 << LENGTH64)))
#define class_of(length) (length == LENGTH36 -> KEEPS_36 : (length == LENGTH48 -> KEEPS_48 : KEEPS_48_AND_64))

/* There is room for so many pages and nodes at most, and at any moment there may be room for none. */
#define PAGES 2
#define NODES 3

/* Two words of the root: that of the source, and that of the other /14. Each field of a word is stored with all others. */
bit root_whole;
byte root_page[2];
byte root_lengths[2];
/* In each page the word at the source's place. */
bit page_whole[PAGES + 1];
byte page_node[PAGES + 1];
byte page_lengths[PAGES + 1];
bit page_classed[PAGES + 1];
/* In each node the bits and the class of the source. */
bit is_listed[NODES + 1];
bit has_longer[NODES + 1];
byte class[NODES + 1];
bit stands[LENGTHS];

/* The truth. */
bit wanted[TARGETS];
#define is_wanted_around (wanted[SLASH12] || wanted[SLASH14] || wanted[SLASH20] || wanted[SLASH29] || \
    wanted[SLASH32] || wanted[SLASH36] || wanted[SLASH48] || wanted[SLASH64])
#define is_wanted_in_slash32 (wanted[SLASH36] || wanted[SLASH48] || wanted[SLASH64])
#define is_wanted_in_slash24(where) \
    ((where) -> wanted[FAR32] : (wanted[SLASH29] || wanted[SLASH32] || is_wanted_in_slash32 || wanted[NEAR]))
#define is_wanted_in_slash16(where) (((where) -> wanted[FAR20] : (wanted[SLASH20] || wanted[BESIDE])) || \
    is_wanted_in_slash24(where))

/* What has been given out. */
byte pages;
byte nodes;

/* While a request that changes it is under way, either is right. */
#define EITHER 0
#define MUST_FIND 1
#define MUST_NOT_FIND 2
byte listed;

/*
 * The packet. It guesses what it will be told, and leaves when it meets anything else: so all that is to be remembered of a
 * word is whether it has been loaded.
 */
bit inside;
bit awaited;
bit is_over;
byte fate;
byte page;
byte node;
bit did_root;
bit did_page;
bit did_listed;
bit did_longer;
bit did_class;
bit is_classed;
/* Entries of the table that did not stand, and those that are asked for. */
byte missed;
byte asked;

#define ROOT_IS_ZERO 0
#define ROOT_IS_WHOLE 1
#define PAGE_IS_ZERO 2
#define PAGE_IS_WHOLE 3
#define NODE_IS_ZERO 4
#define NODE_IS_LISTED 5
#define TABLE_HAS_NONE 6
/* And more: that the table has the one of this length. */
#define TABLE_HAS 7

/* The next daemon's judge: is it in the slot, and do its tables hold the source? */
bit is_next_published;
bit next_holds;
bit is_killed;
bit is_freed;

/* What comes after it is of no interest. */
inline leave()
{
    d_step {
        inside = 0; awaited = 0; is_over = 1; fate = 0; page = 0; node = 0; missed = 0; asked = 0;
        did_root = 0; did_page = 0; did_listed = 0; did_longer = 0; did_class = 0; is_classed = 0
    }
}

inline verdict(expected)
{
    assert(listed == expected);
    leave()
}

#define did_all (did_root && (did_page || !page) && (did_listed || !node) && (did_longer || !node) && \
    (did_class || !is_classed))

inline conclude()
{
    if
    :: inside && fate == ROOT_IS_ZERO && did_root -> verdict(MUST_NOT_FIND)
    :: inside && fate == ROOT_IS_WHOLE && did_root -> verdict(MUST_FIND)
    :: inside && fate == PAGE_IS_ZERO && did_root && did_page -> verdict(MUST_NOT_FIND)
    :: inside && fate == PAGE_IS_WHOLE && did_root && did_page -> verdict(MUST_FIND)
    :: inside && fate == NODE_IS_ZERO && did_root && did_page && did_listed && did_longer -> verdict(MUST_NOT_FIND)
    :: inside && fate == NODE_IS_LISTED && did_root && did_page && did_listed -> verdict(MUST_FIND)
    :: inside && fate == TABLE_HAS_NONE && did_all && (asked & missed) == asked -> verdict(MUST_NOT_FIND)
    :: inside && fate >= TABLE_HAS && did_all && missed -> verdict(MUST_FIND)
    :: else
    fi
}

/* In the order of the program, or in any: but no word is loaded before the one that says where it is. */
#ifdef LOADS_IN_ORDER
#define after_listed did_listed
#define after_longer did_longer
#define after_all did_all
#else
#define after_listed true
#define after_longer true
#define after_all true
#endif

#define is_zero(number, lengths) ((number) == 0 && (lengths) == 0)

inline load_root()
{
    did_root = 1;
    if
    :: fate == ROOT_IS_WHOLE && root_whole
    :: fate == ROOT_IS_ZERO && !root_whole && is_zero(root_page[0], root_lengths[0])
    :: fate > ROOT_IS_WHOLE && !root_whole && root_page[0] -> page = root_page[0]
    :: fate >= TABLE_HAS_NONE && !root_whole && !root_page[0] && root_lengths[0] -> ask(root_lengths[0])
    :: else -> leave()
    fi
}

inline load_page()
{
    did_page = 1;
    if
    :: fate == PAGE_IS_WHOLE && page_whole[page]
    :: fate == PAGE_IS_ZERO && !page_whole[page] && is_zero(page_node[page], page_lengths[page])
    :: fate > PAGE_IS_WHOLE && !page_whole[page] && page_node[page] ->
        node = page_node[page];
        is_classed = page_classed[page];
        ask(page_lengths[page])
    :: fate >= TABLE_HAS_NONE && !page_whole[page] && !page_node[page] && page_lengths[page] -> ask(page_lengths[page])
    :: else -> leave()
    fi
}

/* The table, for these lengths. */
inline ask(lengths)
{
    if
    :: fate == TABLE_HAS_NONE -> asked = (lengths) & (WHO >> SLASH20)
    :: fate >= TABLE_HAS && !((lengths) >> (fate - TABLE_HAS) & 1) -> leave()
    :: else
    fi
}

inline load_class()
{
    did_class = 1;
    if
    :: fate == TABLE_HAS_NONE -> asked = asked & kept(class[node])
    :: fate >= TABLE_HAS && !(kept(class[node]) >> (fate - TABLE_HAS) & 1) -> leave()
    :: else
    fi
}

inline load_bit(is_so, as_guessed)
{
    if
    :: (is_so) == (as_guessed)
    :: else -> leave()
    fi
}

#define knows_lengths (page -> did_page : did_root)
#define may_ask(at) (inside && fate == TABLE_HAS_NONE && may_be(SLASH20 + at) && !(missed >> (at) & 1) && after_all && \
    (!knows_lengths || (asked >> (at) & 1)))

inline miss(at)
{
    missed = missed | 1 << (at);
    load_bit(stands[at], 0);
    conclude()
}

proctype packet()
{
    atomic {
        if
        :: is_next_published -> assert(listed == EITHER || next_holds == (listed == MUST_FIND)); is_over = 1
        :: !is_next_published && listed != EITHER ->
            inside = 1;
            select(fate : ROOT_IS_ZERO .. TABLE_HAS + LENGTHS - 1)
        fi
    }
end:
    do
    :: atomic { inside && is_freed -> assert(false) }
    :: atomic { inside && !did_root -> load_root(); conclude() }
    :: atomic { inside && page && !did_page -> load_page(); conclude() }
    :: atomic { inside && node && !did_listed ->
            did_listed = 1; load_bit(is_listed[node], fate == NODE_IS_LISTED); conclude() }
    :: atomic { inside && node && fate != NODE_IS_LISTED && !did_longer && after_listed ->
            did_longer = 1; load_bit(has_longer[node], fate >= TABLE_HAS_NONE); conclude() }
    :: atomic { inside && node && fate >= TABLE_HAS_NONE && is_classed && !did_class && after_longer ->
            load_class(); conclude() }
    :: atomic { inside && fate >= TABLE_HAS && !missed && after_all ->
            missed = 1; load_bit(stands[fate - TABLE_HAS], 1); conclude() }
    :: atomic { may_ask(0) -> miss(0) }
    :: atomic { may_ask(1) -> miss(1) }
    :: atomic { may_ask(2) -> miss(2) }
    :: atomic { may_ask(3) -> miss(3) }
    :: atomic { may_ask(4) -> miss(4) }
    :: atomic { may_ask(5) -> miss(5) }
    od
}

/* A page or node where nobody is yet. Where some are named already without one, there must be none. */
#ifdef A_NODE_COMES_LATE
#define may_have_page(where) (root_page[where] == 0)
#define may_have_node(number) (page_node[number] == 0)
#else
#define may_have_page(where) (root_page[where] == 0 && root_lengths[where] == 0)
#define may_have_node(number) (page_node[number] == 0 && page_lengths[number] == 0)
#endif

inline make_page(where)
{
    if
    :: may_have_page(where) && pages < PAGES -> d_step { pages++; root_page[where] = pages }
#ifdef NUMBERS_ARE_USED_AGAIN
    :: may_have_page(where) && pages > 0 && root_page[0] != 1 && root_page[1] != 1 -> root_page[where] = 1
#endif
    :: true
    fi
}

#ifdef A_NEW_NODE_FORGETS_THE_WHOLE
#define whole_with_node 0
#else
#define whole_with_node page_whole[at]
#endif

inline make_node()
{
    if
    :: may_have_node(at) && nodes < NODES ->
        d_step { nodes++; page_whole[at] = whole_with_node; page_node[at] = nodes }
    :: true
    fi
}

inline name(target)
{
    if
    :: at == 0 -> root_lengths[where] = root_lengths[where] | 1 << length(target)
    :: at != 0 -> page_lengths[at] = page_lengths[at] | 1 << length(target)
    fi
}

#ifdef SHORT_ONES_ARE_NEVER_IN_THE_TABLE
#define is_told (is_of_page(target) || is_of_node(target))
#else
#define is_told (at && (is_of_page(target) || (is_of_node(target) && below)))
#endif

inline enter_table(target)
{
    if
    :: covers(target) && !is_told -> stands[length(target)] = 1
    :: else
    fi
}

/* Is this the second length below the /24, but for /64? */
#define shorter_lengths (page_lengths[at] & (1 << LENGTH36 | 1 << LENGTH48))
#define is_one_more(target) (!page_classed[at] && length(target) != LENGTH64 && shorter_lengths && \
    !(page_lengths[at] >> length(target) & 1))
#ifdef CLASSES_KNOW_THE_NEWCOMER_ONLY
#define class_before class_of(length(target))
#else
#define class_before (page_lengths[at] == 1 << LENGTH36 -> KEEPS_36 : (page_lengths[at] == 1 << LENGTH48 -> KEEPS_48 : ANY))
#endif

/* A classed node in the place of one without classes: whole, and only then its number is stored. */
inline class_node(target)
{
    if
    :: is_one_more(target) && nodes < NODES ->
        nodes++;
#ifdef STORED_BEFORE_IT_IS_FILLED
        d_step { page_node[at] = nodes; page_classed[at] = 1 };
#endif
        d_step { is_listed[nodes] = is_listed[below]; has_longer[nodes] = has_longer[below]; class[nodes] = class_before };
        d_step { below = nodes; page_node[at] = nodes; page_classed[at] = 1 }
    :: true
    fi
}

/* The first of its /32 says which class that is of; another one, that it is of any. */
inline note_class(length)
{
    if
#ifdef THE_LATEST_CLASS_COUNTS
    :: true -> class[below] = class_of(length)
#else
    :: !has_longer[below] || class[below] == class_of(length) -> class[below] = class_of(length)
    :: has_longer[below] && class[below] != class_of(length) -> class[below] = ANY
#endif
    fi
}

inline reveal(target)
{
    if
    :: at == 0 || (!is_of_page(target) && below == 0) -> name(target)
    :: at && is_of_page(target) && target != BESIDE -> page_whole[at] = 1
    :: at && below && is_of_node(target) -> is_listed[below] = 1
    :: at && below && !is_of_node(target) && !is_of_page(target) ->
        class_node(target);
#ifndef LENGTHS_ARE_NOT_NAMED
        name(target);
#endif
        if
        :: target != NEAR && page_classed[at] -> note_class(length(target)); has_longer[below] = 1
        :: target != NEAR && !page_classed[at] -> has_longer[below] = 1
        :: target == NEAR
        fi
    :: else
    fi
}

#define where_is(target) ((target) >= FAR20)

/* Way first, then the table, then what leads to it. (The order is free, says BIT_BEFORE_TABLE.) */
inline enter(target)
{
    if
    :: is_of_root(target) -> root_whole = 1
    :: !is_of_root(target) ->
        where = where_is(target);
        make_page(where);
        at = root_page[where];
        if
        :: at && !is_of_page(target) -> make_node()
        :: else
        fi;
        below = (at -> page_node[at] : 0);
#ifdef BIT_BEFORE_TABLE
        reveal(target);
        enter_table(target)
#else
        enter_table(target);
        reveal(target)
#endif
    fi;
    where = 0; at = 0; below = 0
}

#ifdef NESTED_ONES_ARE_FORGOTTEN
#define unless(others) true
#else
#define unless(others) (!(others))
#endif
#ifdef NEIGHBOURS_ARE_FORGOTTEN
#define unless_anybody(others) true
#else
#define unless_anybody(others) (!(others))
#endif
#ifdef THE_WHOLE_IS_TIDIED_AWAY
#define unless_whole(bit) true
#else
#define unless_whole(bit) (!(bit))
#endif

inline tidy_page()
{
    if
    :: unless_whole(page_whole[at]) && unless_anybody(is_wanted_in_slash24(where)) ->
        d_step { page_whole[at] = 0; page_node[at] = 0; page_lengths[at] = 0; page_classed[at] = 0 }
    :: else
    fi
}

inline tidy_root()
{
    if
    :: (where || unless_whole(root_whole)) && unless_anybody(is_wanted_in_slash16(where)) ->
        d_step { root_whole = (where -> root_whole : 0); root_page[where] = 0; root_lengths[where] = 0 }
    :: else
    fi
}

inline hide_in_node(target)
{
    if
    :: target == FAR32 -> is_listed[below] = 0
    :: is_of_node(target) && target != FAR32 && unless(wanted[SLASH29] || wanted[SLASH32]) -> is_listed[below] = 0
    :: !is_of_node(target) && target != NEAR && unless(is_wanted_in_slash32) -> has_longer[below] = 0
    :: else
    fi
}

inline hide_in_page(target)
{
    if
    :: target == BESIDE
    :: is_of_page(target) && target != BESIDE -> page_whole[at] = 0; tidy_page()
    :: !is_of_page(target) ->
        below = page_node[at];
        if
        :: below -> hide_in_node(target)
        :: !below
        fi;
        tidy_page()
    fi
}

inline leave_table(target)
{
    if
    :: covers(target) && !is_of_root(target) -> stands[length(target)] = 0
    :: else
    fi
}

/* From the bottom of the levels to the top, then out of the table. */
inline hide(target)
{
    where = where_is(target);
    if
    :: is_of_root(target) && unless(wanted[SLASH12] || wanted[SLASH14]) -> root_whole = 0
    :: is_of_root(target) && !unless(wanted[SLASH12] || wanted[SLASH14])
    :: !is_of_root(target) ->
#ifdef TABLE_BEFORE_BIT
        leave_table(target);
#endif
        at = root_page[where];
        if
        :: at -> hide_in_page(target)
        :: !at
        fi
    fi;
    tidy_root();
    leave_table(target);
    where = 0; at = 0; below = 0
}

bit added_lately;

/* Additions count as such until every packet has gone that may not have seen them. */
#ifdef NO_GRACE_BEFORE_REMOVALS
#define are_additions_seen true
#else
#define are_additions_seen (!added_lately)
#endif
inline await_additions()
{
    if
    :: !are_additions_seen ->
        atomic { awaited = inside; added_lately = 0 };
        !awaited
    :: are_additions_seen
    fi
}

#define was_listed (listed == MUST_FIND)

/* Packets that meet a request which changes whether the source is listed may be told either. */
inline begin_request(target, is_in)
{
    d_step {
        wanted[target] = is_in;
        if
        :: is_wanted_around != was_listed -> listed = EITHER; if :: inside -> leave() :: !inside fi
        :: else
        fi
    }
}

inline end_request() { listed = (is_wanted_around -> MUST_FIND : MUST_NOT_FIND) }

proctype daemon()
{
    byte target, requests, where, at, below;

    {
        do
        :: requests < REQUESTS ->
            atomic {
                requests++;
                select(target : 0 .. TARGETS - 1);
                if
                :: may_be(target)
                fi
            };
            if
            :: !wanted[target] ->
                begin_request(target, 1);
                enter(target);
                atomic { added_lately = 1; end_request() }
            :: wanted[target] ->
                await_additions();
                begin_request(target, 0);
                hide(target);
                end_request()
            fi
        :: requests == REQUESTS -> break
        od
    } unless { is_killed || is_over }
}

/*
 * Comes at any step of a daemon that is killed there. It fills levels and table of its own, and publishes them by one
 * store: a packet that comes before meets the words as they were left.
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
        awaited = inside
    };
#ifndef FREED_WITHOUT_A_GRACE_PERIOD
    !awaited;
#endif
    is_freed = 1
}

/* Any of them, with or without pages and nodes. */
init
{
    byte target, where, at, below;

    atomic {
        do
        :: target < TARGETS ->
            if
            :: may_be(target) -> wanted[target] = 1; enter(target)
            :: true
            fi;
            target++
        :: target == TARGETS -> break
        od;
        target = 0;
        end_request();
        run packet(); run daemon();
#ifdef KILLED
        run next_daemon()
#endif
    }
}

package client

// verb is a command of the server.
type verb uint8

const (
	vAppend verb = iota
	vReplace
	vPop
	vTrim
	vEdit
	vRemove
	vClear
	vDelete
	vExpire
	vRetain
	vFork
	vRename
	vSetMeta
	vErase
	vTx
	vSetFields
	vRemoveFields
	vGetFields
	vAllFields
	vRead
	vTail
	vInfo
	vGetMeta
	vList
	vCluster
	vTrace
)

// again says whether a request may be sent again after an attempt that may have
// reached the server. The attempt that was given up can still be on its way: it
// may be carried out after the repetition was answered, and after whatever the
// caller did next. So it is not enough that doing something twice at once equals
// doing it once; a late second time must not undo what came in between.
type again uint8

const (
	never      again = iota // a late repetition would change what came in between
	identified              // the state machine recognises the ids and answers with the first outcome
	harmless                // it changes nothing
)

// verbs holds, by verb, the command and whether it may be repeated. Any request
// is repeated when it surely was not carried out: when it never left this
// machine, or when the server says so.
var verbs = [...]struct {
	command string
	again   again
}{
	vAppend:  {"TURN.APPEND", identified},
	vReplace: {"TURN.REPLACE", identified}, // with messages; a mere cut carries no id, see Session.Replace
	vPop:     {"TURN.POP", never},          // takes further messages, and the first ones were never seen
	// "keep 20" would drop what was appended since; seqs begin again after a delete
	vTrim:         {"TURN.TRIM", never},
	vEdit:         {"TURN.EDIT", never},   // overrides an edit made since
	vRemove:       {"TURN.REMOVE", never}, // seqs begin again after a delete, and ids are forgotten
	vClear:        {"TURN.CLEAR", never},  // removes what was appended since
	vDelete:       {"TURN.DELETE", never}, // removes a session created since
	vExpire:       {"TURN.EXPIRE", never}, // overrides a deadline set since
	vRetain:       {"TURN.RETAIN", never}, // overrides a limit set since
	vFork:         {"TURN.FORK", never},   // answers EXISTS for its own success
	vRename:       {"TURN.RENAME", never}, // answers NOT_FOUND for its own success
	vSetMeta:      {"TURN.META", never},   // overrides values set since
	vErase:        {"TURN.ERASE", never},  // removes sessions created since
	vTx:           {"TURN.TX", identified},
	vSetFields:    {"HSET", never}, // overrides values set since
	vRemoveFields: {"HDEL", never}, // removes fields set since
	vGetFields:    {"HMGET", harmless},
	vAllFields:    {"HGETALL", harmless},
	vRead:         {"TURN.READ", harmless},
	vTail:         {"TURN.TAIL", harmless},
	vInfo:         {"TURN.INFO", harmless},
	vGetMeta:      {"TURN.META", harmless},
	vList:         {"TURN.LIST", harmless},
	vCluster:      {"TURN.CLUSTER", harmless},
	vTrace:        {"TURN.TRACE", harmless},
}

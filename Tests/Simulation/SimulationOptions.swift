/// The parameters of a simulated world.
package struct SimulationOptions: Sendable {
    package var clientCount = 2
    /// Whether stores are files, which a restart really opens again; else they are in memory and handed over.
    package var usesFiles = false
    package var pageRowCount = 3
    package var groupOperationCountMax = 20_000
    package var replayObjectCountMax = 20_000
    /// The maximum number of operations in a transaction; the server rejects larger ones.
    package var operationCountMax: UInt64 = 100_000
    package var comparedMemberCountMax = 500_000
    /// Up to how many members the server makes digests for returning clients; what it compares beyond is read by column.
    package var digestObjectCountMax = 1_000
    package var listedMemberCountMax = 10_000
    package var askedObserverCountMax = 16
    /// How many results beyond the limit clients hold of an observed query; nil for as many as they usually do, which is
    /// more than there are.
    package var windowSurplus: Int?
    /// How quickly the server has to answer for writes of clients to wait for it; an action takes a millisecond.
    package var quickAnswerTime = Duration.milliseconds(2)
    /// The number of rows of a page from which clients store them together.
    package var bulkRowCountMin = 8
    /// How many steps a session may use in a turn; with few, most queries are costly ones.
    package var shareStepCountMax = 1_000_000
    /// How many subscriptions of a session are started before they are complete.
    package var incompleteCountMax = 64
    /// From how many objects on a page is read beside the writer.
    package var objectCountBeside = 3
    /// How many pages are read beside the writer at once.
    package var pagesPerReading = 4
    /// With how many receivers of pages it is one page.
    package var readAheadReceiverCountMax = 32
    /// In how many steps a commit may find what readers gain and lose with it; with none, all of it is found beside the
    /// writer, in a database that is a file.
    package var contextStepCountMax = 20_000
    /// In how many steps views may follow a commit; what takes more is brought up to date beside the writer, in a database
    /// that is a file. With none, that is each view that reads anything.
    package var followStepCountMax = 100_000
    /// The largest error of the clients' clocks, in microseconds.
    package var clockSkewMax: Int64 = 0
    /// Whether the last client declares no classes and learns the schema from the server.
    package var lastClientLearnsSchema = false
    /// What the pages may take that the server keeps encoded, in bytes.
    package var sharedPageByteCount = 32 << 20
    /// The number of different queries.
    package var queryCount = 8
    /// What the follower of the server does.
    package var followerSeed: UInt64 = 0
    /// How many clients, the last ones, may not read everything. They only read, and learn the schema from the server.
    package var limitedClientCount = 0
    /// Whether clients log in as users, to whom rules apply.
    package var isRuled = false
    /// Whether the rules let most be read, so that much is lost when they or the objects change.
    package var hasGenerousRules = false
    /// Whether the server's user has validators, resolvers and a backend in the server's process.
    package var hasBackend = false
    /// Whether classes have dates, and queries `$now`.
    package var readsTime = false
    /// Whether consumers, the workers of a queue and a schedule run.
    package var hasJobs = false
    /// Whether what they write is refused now and then, or stored although the answer is lost.
    package var losesJobAnswers = false
    /// The lease of the queue's workers, in microseconds.
    package var jobLease: Int64 = 60_000
    /// How many processes the server is, which share a journal.
    package var nodeCount = 1

    /// How far the clock of a node is from that of the simulation, in microseconds. What compares times with those of the
    /// simulation has nodes whose clocks agree.
    func clockOffset(ofNode number: Int) -> Int64 { readsTime || hasJobs ? 0 : Int64(number) * -300_000 }
    /// Whether the server's file is copied, and the copy put back.
    package var putsBackupsBack = false
    /// Whether the journal of several nodes loses groups that it had taken.
    package var forksJournal = false
    /// Whether the journal of several nodes also takes groups late, when their authors have given them up, and twice.
    package var delaysGroups = false
    /// How long the users' tokens hold, in microseconds; nil for ever.
    package var tokenLifetime: Int64?

    package init() {}

    /// A lease that no process outlives.
    static let longJobLease: Int64 = 86_400_000_000

    /// Whether the server may lose what it has acknowledged.
    var losesHistory: Bool { putsBackupsBack || forksJournal }
}

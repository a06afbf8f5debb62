package import SluiceModel
package import SluiceWire

/// How much a database may hold, and how much work it may do at a time.
package struct DatabaseLimits: Sendable {
    /// The maximum number of operations that share a transaction.
    package var groupOperationCountMax = 20_000
    /// The number of rows in a page, and of objects in one part of a commit.
    package var pageRowCount = 2_000
    /// The approximate number of bytes, before compression, after which a page or a part of a commit takes no more
    /// objects.
    package var pageByteCount = DataLimits.standard.blockByteCount
    /// The approximate maximum of bytes, before compression, of several parts of a commit that share a frame, and
    /// of the changes that bring a returning client up to date. With the largest row on top, a frame is still
    /// within the limit of clients.
    package var frameByteCount = 3 << 20
    /// The most rejected transactions that share a frame. One takes two kilobytes at the most.
    package var sharedRejectionCount = 1_000
    /// The maximum number of changed objects that a returning client is sent from the log. Beyond it, the server
    /// compares members or starts anew.
    package var replayObjectCountMax = 20_000
    /// The maximum number of members that a client lists in one session at a time; with more, the subscription
    /// starts anew.
    package var comparedMemberCountMax = 500_000
    /// The maximum number of objects in one message of what a client keeps without a subscription.
    package var offeredObjectCountMax = 2_000
    /// The maximum number of such objects that are watched for one session, and for all. Of others a client learns when
    /// it offers them again: in its next session, or in another context.
    package var cachedObjectCountMax = 20_000
    package var allCachedObjectCountMax = 1_000_000
    /// The number of watched objects that one turn judges again.
    package var judgedObjectCountMax = 500
    /// The maximum number of objects that commits change while one session's subscriptions are still bootstrapping.
    /// A client that takes its pages more slowly starts anew.
    package var touchedObjectCountMax = 500_000
    /// The last round of sending what commits have changed behind the pages of a bootstrap. Earlier rounds are
    /// pages that wait for credit; the last round is sent at once, whatever its size.
    package var settlingRoundMax = 4
    /// The maximum number of members of a view whose digest the server makes for returning clients to compare.
    package var digestObjectCountMax = 1_000
    /// The maximum number of steps in which a query may make a view or list its roots. A query that needs more than
    /// a share of a turn runs beside the writer, and only other such queries wait for it.
    package var queryStepCountMax = 100_000_000
    /// The number of steps that one turn takes to start subscriptions, and as many to send pages, before the events that
    /// have arrived meanwhile have their turn. Work that has begun is finished, so a turn may exceed this by one
    /// object.
    package var turnStepCountMax = 1_500_000
    /// The number of these steps for one user, over all sessions.
    package var shareStepCountMax = 500_000
    /// What starting a subscription costs in steps, besides those of its query.
    package var startStepCount = 1_000
    /// How many pages of a database may be read at the same time beside its writer; with 0 the writer reads them.
    package var pageReaderCount = 2
    /// How many pages follow each other in one such reading, except the first of a run, and how many may wait for
    /// credit before the next begins. To hand over between threads takes a third of the time of a page.
    package var pagesPerReading = 4
    /// With more subscriptions that are sent pages, it is one page, so that they take turns and little waits.
    package var readAheadReceiverCountMax = 32
    /// From how many objects on, a page is read beside the writer: those that a query is known to match, or that commits
    /// have changed behind its pages. Fewer take the writer less time than opening a connection.
    package var objectCountBeside = 100
    /// The maximum number of alternatives in what a reader may read of a class, list elements included, by which views
    /// are shared. With more, the view is one of its own.
    package var atomCountMax = 1_000
    /// The maximum number of linked objects of a view whose pages are read beside the writer. A commit that changes the
    /// links of a larger view would copy too much.
    package var copiedMemberCountMax = 50_000
    /// The cost in steps of one row that is sent.
    package var sentRowStepCount = 100
    /// The cost in steps of a page that is sent and was encoded before.
    package var sharedPageStepCount = 2_000
    /// The bytes that encoded pages may take, so that clients which ask the same query share them.
    package var sharedPageByteCount = 32 << 20
    /// How many views' pages are kept that nobody is being sent, and for how long, in microseconds.
    package var idlePageRunCount = 64
    package var idlePageRunTime: Int64 = 10_000_000
    /// The maximum number of steps for updating the views of one session after a commit. A view that would exceed
    /// it ends.
    package var upkeepStepCountMax = 20_000_000
    /// The number of steps in which the views of all sessions may follow one commit before others are served, and how many
    /// more for each object that it has changed. A view that takes more is made anew, and its subscribers are served like
    /// clients that return.
    package var followStepCountMax = 100_000
    package var followStepCountPerChange = 100
    /// The number of these steps that each view may take, whatever the others have taken: about what it costs the writer
    /// to do without.
    package var followStepCountMin = 2_000
    /// A window judges so many possible results one by one that read what a commit has changed elsewhere. With more it is
    /// read anew.
    package var affectedRootCountMax = 1_000
    /// The number of steps in which one commit may find what readers gain and lose with it. Readers of whom that takes
    /// more are served like clients that return.
    package var contextStepCountMax = 20_000
    /// The number of steps that updating a view may always take, whatever the session's other views have taken.
    package var viewUpkeepStepCountMin = 10_000
    /// The maximum number of steps for finding what a returning client missed; beyond it, its subscription starts
    /// anew.
    package var resumeStepCountMax = 20_000_000
    /// The number of roots listed for one session beyond which it gets no more lists.
    package var listedRootCountMax = 1_000_000
    /// How many subscriptions of a session are started before they are complete. Further ones wait.
    package var incompleteCountMax = 64
    /// The number of versions, and of bytes, of the log that are kept for returning clients.
    package var logVersionCount: UInt64 = 1_000_000
    package var logByteCount = 256 << 20
    /// The most bytes of the log that are kept because a consumer has not handled them yet.
    package var consumerLogByteCount = 1 << 30
    /// How long entries of the log are kept, in microseconds; nil for as long as they are few.
    package var logAgeMax: Int64? = 90 * 86_400_000_000
    /// The time in microseconds between digests that are sent to running sessions, and between two digests of one
    /// view.
    package var digestInterval: Int64 = 1_000_000
    package var digestRoundTime: Int64 = 60_000_000
    /// The maximum number of members of a view whose digest is sent to running sessions.
    package var checkedObjectCountMax = 5_000
    /// How long, in microseconds, a client must be away to be forgotten once the log does not reach back to its
    /// version.
    package var clientRetention: Int64 = 90 * 86_400_000_000
    /// The maximum number of subscriptions of one user, over all sessions; nil for no limit.
    package var userSubscriptionCountMax: Int?
    /// The maximum size of the database's file, in bytes; nil for no limit.
    package var fileByteCountMax: Int?
    /// The maximum number of classes, and of the properties of all of them; nil for no limits but those of the format.
    package var classCountMax: Int?
    package var propertyCountMax: Int?
    package var server = ServerLimits()
    /// How large data may be. Tests use smaller ones.
    package var data = DataLimits.standard
    package var automaticIndexes = AutomaticIndexes.Limits()

    package init() {}

    /// The number of steps in which the views may follow a commit that has changed so many objects.
    func followStepCount(changeCount: Int) -> Int { followStepCountMax + changeCount * followStepCountPerChange }

    /// Sets the quotas that each database keeps.
    mutating func apply(_ quotas: Quotas) {
        userSubscriptionCountMax = quotas.subscriptionCountMaxPerUser
        fileByteCountMax = quotas.databaseByteCountMax
        consumerLogByteCount = quotas.consumerLogByteCountMax ?? .max
        classCountMax = quotas.classCountMax
        propertyCountMax = quotas.propertyCountMax
    }
}

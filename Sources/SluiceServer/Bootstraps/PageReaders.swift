internal import SluiceStorage
internal import SluiceViews

/// The pages of a database that are being read beside its writer, a few at a time, each on a connection of its own.
final class PageReaders {
    /// A page that is being read.
    struct Reading {
        enum Page {
            case shared(PageRun, PageReading)
            case own(DifferenceRun, DifferenceReading)
        }

        let page: Page
        /// The subscription for which it is read.
        let subscription: ViewSubscription
    }

    /// Whether a page can be read beside the writer.
    enum Availability {
        case free(ServerSnapshot)
        /// It can, once others have been read.
        case later
        /// The writer must read it.
        case none
    }

    /// What became of a reading that was to begin.
    enum Beginning {
        case begun, later, impossible
    }

    private let database: Database
    private var readings: [ObjectIdentifier: Reading] = [:]
    /// The pages that nobody has begun to read yet.
    private var handedOut: [QueryPreparation] = []

    /// How many subscriptions are sent pages.
    var receiverCount = 0

    private var limits: DatabaseLimits { database.limits }

    /// How many pages follow each other in one reading, and how many of a subscription may wait for credit before the
    /// next begins.
    var pageCountMax: Int { receiverCount > limits.readAheadReceiverCountMax ? 1 : max(1, limits.pagesPerReading) }

    init(_ database: Database) { self.database = database }

    /// Whether another page may be read.
    var hasRoom: Bool { readings.count < max(1, limits.pageReaderCount) }

    var isReading: Bool { !readings.isEmpty }

    /// Whether there is a reader for a view's next page.
    ///
    /// - Parameter isLast: whether the page must bring everything up to now, which only the writer sees.
    func availability(for live: LiveView, _ remaining: RemainingPages, isLast: Bool) -> Availability {
        guard !isLast, remaining.needsReading(limits), limits.pageReaderCount > 0,
            live.linkedCount <= limits.copiedMemberCountMax
        else { return .none }
        guard hasRoom else { return .later }
        // Where none can be opened, the writer meets the reason, or does without.
        guard let snapshot = try? database.storage.snapshot() else { return .none }
        return .free(snapshot)
    }

    /// Hands out a page to be read in a snapshot of the present state.
    func begin(_ page: Reading.Page, for subscription: ViewSubscription, in snapshot: ServerSnapshot) {
        let reading: any SnapshotReading =
            switch page {
            case .shared(_, let reading): reading
            case .own(_, let reading): reading
            }
        let preparation = QueryPreparation(.reading(reading), for: subscription.session, of: database, on: snapshot)
        readings[ObjectIdentifier(preparation)] = Reading(page: page, subscription: subscription)
        handedOut.append(preparation)
    }

    /// Removes and returns a page that nobody has begun to read; nil if there is none.
    func take() -> QueryPreparation? { handedOut.isEmpty ? nil : handedOut.removeFirst() }

    /// Removes and returns what was read; nil if the preparation is of another kind.
    func finish(_ preparation: QueryPreparation) -> Reading? {
        readings.removeValue(forKey: ObjectIdentifier(preparation))
    }
}

internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// What a subscription has still to be sent, and what changed behind the pages that were.
struct Bootstrap {
    /// Where the roots of the remaining pages come from.
    enum Roots {
        /// The class in the order of storage, judged row by row, from behind this place.
        case scan(after: RowCursor?)
        /// The roots of the moment at which the bootstrap began, in result order, from this position.
        case listed([ObjectRef], next: Int)
        /// Those behind a place, which are being listed beside the writer, since finding a page takes more than a turn.
        case unlisted(after: RowCursor?)
        case done
    }

    /// Linked objects that are not sent yet, last first. They go before the roots, so that links lead somewhere at once.
    var linked: [ObjectRef]
    var roots: Roots
    /// Objects that commits touched since the first page: sent again, or taken back, at the end.
    var touched: Set<ObjectRef> = []
    /// Those of them whose turn it is, last first. What commits touch meanwhile has its turn after them.
    var settling: [ObjectRef] = []
    /// How often what was touched has had its turn.
    var settlingRound = 0
    /// How many objects there are about to be sent, and how many were.
    var expectedCount: Int
    var sentCount = 0
    /// What the client has, where it listed that; it is told the differences only.
    var known: KnownMembers?
    /// How many members the client announced to have.
    var announcedCount = 0
    /// The digest of what the client has in the end, while that can be told without a search.
    var digest: ViewDigest?
    /// What the client has and the view has not, as far as it is still to be sent, last first; nil before all members
    /// were looked at.
    var leaving: [(object: ObjectRef, isRoot: Bool)]?

    /// Whether nothing is left but what commits touched.
    var isSent: Bool {
        guard case .done = roots, let leaving else { return false }
        return leaving.isEmpty
    }

    /// Whether the roots are being listed.
    var isUnlisted: Bool { if case .unlisted = roots { true } else { false } }

    /// Where the roots begin that are to be listed.
    var unlistedAfter: RowCursor? { if case .unlisted(let cursor) = roots { cursor } else { nil } }

    /// Whether nothing is left at all.
    var isComplete: Bool { isSent && settling.isEmpty && touched.isEmpty }

    /// Whether the pages change what the client has or build it anew.
    var kind: ServerMessage.Complete.Kind { announcedCount > 0 ? .resumed : .bootstrap }

    /// The share of the pages that was sent, below 1.
    var progress: Double { min(0.99, Double(sentCount) / Double(max(1, expectedCount))) }
}

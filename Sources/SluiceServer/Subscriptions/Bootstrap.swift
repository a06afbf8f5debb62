internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// What remains to be sent to a subscription, and what changed behind the pages that were sent.
struct Bootstrap {
    /// The source of the roots of the remaining pages.
    enum Roots {
        /// The class in storage order, evaluated row by row, after this place.
        case scan(after: RowCursor?)
        /// The roots at the beginning of the bootstrap, in result order, from this position.
        case listed([ObjectRef], next: Int)
        /// The roots after a place. They are being listed beside the writer, since finding a page takes more than a
        /// turn.
        case unlisted(after: RowCursor?)
        case done
    }

    /// Linked objects that are not sent yet, last first. They are sent before the roots, so that links have their
    /// targets at once.
    var linked: [ObjectRef]
    var roots: Roots
    /// Objects that commits have changed since the first page. At the end they are sent again, or removed.
    var touched: Set<ObjectRef> = []
    /// The changed objects of the present round, last first. What commits change meanwhile belongs to the next round.
    var settling: [ObjectRef] = []
    /// How many rounds there have been.
    var settlingRound = 0
    /// The approximate number of objects to send, and the number of those sent.
    var expectedCount: Int
    var sentCount = 0
    /// The client's members, if it has listed them; then only the differences are sent.
    var known: KnownMembers?
    /// The number of members that the client announced.
    var announcedCount = 0
    /// The digest of the client's members at the end, as long as it can be computed without a search.
    var digest: ViewDigest?
    /// The client's members that are not in the view and must still be removed, last first; nil until all members were
    /// compared.
    var leaving: [(object: ObjectRef, isRoot: Bool)]?

    /// Whether nothing remains except what commits have changed.
    var isSent: Bool {
        guard case .done = roots, let leaving else { return false }
        return leaving.isEmpty
    }

    /// Whether the roots are being listed.
    var isUnlisted: Bool { if case .unlisted = roots { true } else { false } }

    /// The place after which the roots to be listed begin.
    var unlistedAfter: RowCursor? { if case .unlisted(let cursor) = roots { cursor } else { nil } }

    /// Whether nothing remains to be sent.
    var isComplete: Bool { isSent && settling.isEmpty && touched.isEmpty }

    /// Whether the pages change the client's members or build them from nothing.
    var kind: ServerMessage.Complete.Kind { announcedCount > 0 ? .resumed : .bootstrap }

    /// The part of the pages that was sent, below 1.
    var progress: Double { min(0.99, Double(sentCount) / Double(max(1, expectedCount))) }
}

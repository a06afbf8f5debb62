internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// What remains to be read of a view for pages, and what changed behind the pages that were read.
///
/// A copy shares its lists with the original.
struct RemainingPages {
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

    /// Linked objects that are not read yet. They come before the roots, so that links have their targets at once.
    var linked: ArraySlice<ObjectRef>
    var roots: Roots
    /// How many roots were listed. The list is kept until the last page.
    var listedRootCount = 0
    /// Objects that commits have changed since the first page. At the end they are sent again, or removed.
    var touched: Set<ObjectRef> = []
    /// The changed objects of the present round. What commits change meanwhile belongs to the next round.
    var settling: ArraySlice<ObjectRef> = []
    /// How many rounds there have been.
    var settlingRound = 0
    /// The approximate number of objects to read, and the number of those read.
    var expectedCount: Int
    /// Whether the reader may know how many are expected: not where that counts objects that the reader may not read.
    var tellsProgress = true
    var readCount = 0
    /// The client's members, if it has listed them; then only the differences are sent.
    var known: KnownMembers?
    /// The number of members that the client announced.
    var announcedCount = 0
    /// The digest of the client's members at the end, as long as it can be computed without a search.
    var digest: ViewDigest?
    /// The client's members that are not in the view and must still be removed, last first; nil until all members were
    /// compared.
    var leaving: [(object: ObjectRef, isRoot: Bool)]?

    init(linked: [ObjectRef], roots: Roots, expectedCount: Int) {
        self.linked = linked[...]
        self.roots = roots
        self.expectedCount = expectedCount
        if case .listed(let roots, _) = roots { listedRootCount = roots.count }
    }

    /// Whether nothing remains except what commits have changed.
    var isRead: Bool {
        guard case .done = roots, let leaving else { return false }
        return leaving.isEmpty
    }

    /// Whether the roots are being listed.
    var isUnlisted: Bool { if case .unlisted = roots { true } else { false } }

    /// Whether there is something to read now.
    var isReadable: Bool { !isUnlisted || !linked.isEmpty }

    /// Whether linked objects or roots can be read now, or members that have left.
    var isUnread: Bool {
        switch roots {
        case .scan, .listed: true
        case .unlisted: !linked.isEmpty
        case .done: !linked.isEmpty || !(leaving?.isEmpty ?? false)
        }
    }

    /// Whether a reading that has read a page can go on with the next.
    var isReadableOn: Bool { isUnread || isRead && !settling.isEmpty }

    /// Whether nothing was read yet.
    var isAtStart: Bool { readCount == 0 && settlingRound == 0 }

    /// Whether the next page is read beside the writer: all but a few objects that are known, which take the writer less
    /// time than opening a connection.
    func needsReading(_ limits: DatabaseLimits) -> Bool {
        isUnread && !isListed(below: limits.objectCountBeside)
            || isRead && (settling.isEmpty ? touched.count : settling.count) >= limits.objectCountBeside
    }

    /// Whether all that is left to be read is known, and less than so many objects. What a client has listed besides is
    /// looked at page by page.
    private func isListed(below count: Int) -> Bool {
        switch roots {
        case .listed(let roots, let next): known == nil && linked.count + roots.count - next < count
        case .done: known == nil && linked.count + (leaving?.count ?? 0) < count
        case .scan, .unlisted: false
        }
    }

    /// Begins a round of sending the objects that commits have changed so far, if everything else is read and no round
    /// is under way.
    mutating func beginSettling() {
        guard isRead, settling.isEmpty, !touched.isEmpty else { return }
        settling = touched.sorted()[...]
        touched = []
        settlingRound += 1
    }

    /// Takes out what is to be read next, for a reading beside the writer. What was compared with the client's members
    /// is moved and not copied.
    mutating func takeReading() -> RemainingPages {
        beginSettling()
        defer {
            known = nil
            digest = nil
            if leaving != nil { leaving = [] }
        }
        return self
    }

    /// Goes on where a reading has come to that began with ``takeReading()``. What commits have changed meanwhile stays.
    mutating func goOn(from other: RemainingPages) {
        linked = other.linked
        readCount = other.readCount
        settling = other.settling
        known = other.known
        digest = other.digest
        leaving = other.leaving
        // They may have been listed while linked objects were read.
        if case .listed = roots, other.isUnlisted { return }
        roots = other.roots
    }

    /// The place after which the roots to be listed begin.
    var unlistedAfter: RowCursor? { if case .unlisted(let cursor) = roots { cursor } else { nil } }

    /// Whether nothing remains to be read.
    var isComplete: Bool { isRead && settling.isEmpty && touched.isEmpty }

    /// Continues with the roots that were listed, if they were being listed.
    mutating func list(_ roots: [ObjectRef]) {
        guard isUnlisted else { return }
        self.roots = .listed(roots, next: 0)
        listedRootCount = roots.count
    }

    /// Drops the list of roots. It has to be made again later.
    mutating func postponeListing() {
        roots = .unlisted(after: nil)
        listedRootCount = 0
    }

    /// The part of the objects that was read, below 1; 0 where it must not be told.
    var progress: Double { tellsProgress ? min(0.99, Double(readCount) / Double(max(1, expectedCount))) : 0 }
}

internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// A page that a subscription is sent.
struct OutgoingPage {
    let page: EncodedPage
    /// Where the results of the page stand; nil for receivers that find that out themselves.
    let places: [ServerMessage.Place]?
}

/// Gathers the pages that are sent in a turn, so that receivers of the same pages share their frames: a client is sent
/// together what is there for it.
struct OutgoingPages {
    fileprivate struct Parcel {
        let pages: [OutgoingPage]
        let isLast: Bool
        var receivers: [ViewSubscription]
    }

    private struct Key: Hashable {
        var pages: [ObjectIdentifier]
        var isLast: Bool
        var session: UInt64
        var subscription: UInt64
        var isLight: Bool
    }

    private var parcels: [Parcel] = []
    private var positions: [Key: Int] = [:]
    /// Receivers mostly come to the pages that the one before has got.
    private var last: (key: Key, position: Int)?

    /// Adds the pages that a subscription is sent in this turn.
    ///
    /// - Parameter isLast: whether it has all pages with these.
    mutating func add(_ pages: [OutgoingPage], isLast: Bool, to subscription: ViewSubscription) {
        let key = Key(
            pages: pages.map { ObjectIdentifier($0.page) }, isLast: isLast, session: subscription.session.session,
            subscription: subscription.id, isLight: subscription.subscriber.isLight)
        if let last, last.key == key { return parcels[last.position].receivers.append(subscription) }
        let position = positions[key] ?? parcels.count
        last = (key, position)
        if position < parcels.count { return parcels[position].receivers.append(subscription) }
        parcels.append(Parcel(pages: pages, isLast: isLast, receivers: [subscription]))
        positions[key] = position
    }

    /// Removes all, and makes their frames, in the order in which they were added.
    ///
    /// - Parameter now: when the database's version was accepted, if nothing else is known.
    mutating func takeFrames(
        _ storage: SQLiteServerStorage, _ limits: DatabaseLimits, now: Timestamp
    ) -> [DatabaseAction] {
        defer { self = OutgoingPages() }
        return parcels.flatMap { $0.frames(storage, limits, now: now) }
    }
}

extension OutgoingPages.Parcel {
    fileprivate func frames(
        _ storage: SQLiteServerStorage, _ limits: DatabaseLimits, now: Timestamp
    ) -> [DatabaseAction] {
        let (session, subscription) = (receivers[0].session.session, receivers[0].id)
        var frames: [FrameBuilder] = []
        var frame = FrameBuilder()
        var byteCount = 0
        var pageCount = 0
        for (position, outgoing) in pages.enumerated() {
            let page = outgoing.page
            if pageCount == limits.framePageCount
                || pageCount > 0 && byteCount + page.expandedByteCount > limits.frameByteCount
            {
                frames.append(frame)
                frame = FrameBuilder()
                byteCount = 0
                pageCount = 0
            }
            byteCount += page.expandedByteCount
            pageCount += 1
            if let places = outgoing.places {
                frame.append(ServerMessage.places(.init(session: session, subscriptions: [subscription], rows: places)))
            }
            frame.appendPage(
                session: session, subscriptions: [subscription], version: storage.version,
                progress: isLast && position == pages.count - 1 ? 1 : page.progress, content: page.block)
        }
        if isLast {
            let complete = ServerMessage.Complete(
                session: session, subscription: subscription, version: storage.version,
                acceptedAt: storage.acceptedAt ?? now, kind: .bootstrap,
                figures: receivers[0].figuresToSend(to: receivers.count))
            frame.append(ServerMessage.complete(complete))
        }
        frames.append(frame)
        let connections = receivers.map(\.session.connection)
        return frames.map { frame in
            connections.count == 1
                ? .send(frame.finish(), to: connections[0]) : .broadcast(frame.finish(), to: connections)
        }
    }
}

internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Gathers the pages that are sent together, so that receivers of the same bytes share a frame.
struct OutgoingPages {
    fileprivate struct Parcel {
        let page: EncodedPage
        let isLast: Bool
        /// Where the results of the page stand; nil for receivers that find that out themselves.
        let places: [ServerMessage.Place]?
        var receivers: [ViewSubscription] = []
    }

    private struct Key: Hashable {
        var page: ObjectIdentifier
        var isLast: Bool
        var session: UInt64
        var subscription: UInt64
        var isLight: Bool
    }

    private var parcels: [Parcel] = []
    private var positions: [Key: Int] = [:]
    /// Receivers mostly come to the page that the one before has got.
    private var last: (key: Key, position: Int)?

    /// Adds a page to those that are sent, of which the subscription has none.
    ///
    /// - Parameter places: makes the places of the page's results, for receivers that are told them.
    mutating func add(
        _ page: EncodedPage, isLast: Bool, to subscription: ViewSubscription,
        places: () throws -> [ServerMessage.Place]
    ) rethrows {
        let isLight = subscription.subscriber.isLight
        let key = Key(
            page: ObjectIdentifier(page), isLast: isLast, session: subscription.session.session,
            subscription: subscription.id, isLight: isLight)
        if let last, last.key == key { return parcels[last.position].receivers.append(subscription) }
        let position = positions[key] ?? parcels.count
        if position == parcels.count {
            parcels.append(Parcel(page: page, isLast: isLast, places: isLight ? try places() : nil))
            positions[key] = position
        }
        last = (key, position)
        parcels[position].receivers.append(subscription)
    }

    /// Removes all, and makes their frames, in the order in which they were added.
    ///
    /// - Parameter now: when the database's version was accepted, if nothing else is known.
    mutating func takeFrames(_ storage: SQLiteServerStorage, now: Timestamp) -> [DatabaseAction] {
        defer { self = OutgoingPages() }
        return parcels.map { $0.frame(storage, now: now) }
    }
}

extension OutgoingPages.Parcel {
    fileprivate func frame(_ storage: SQLiteServerStorage, now: Timestamp) -> DatabaseAction {
        let (session, subscription) = (receivers[0].session.session, receivers[0].id)
        var frame = FrameBuilder()
        if let places {
            frame.append(ServerMessage.places(.init(session: session, subscriptions: [subscription], rows: places)))
        }
        frame.appendPage(
            session: session, subscriptions: [subscription], version: storage.version,
            progress: isLast ? 1 : page.progress,
            content: page.block)
        if isLast {
            let complete = ServerMessage.Complete(
                session: session, subscription: subscription, version: storage.version,
                acceptedAt: storage.acceptedAt ?? now, kind: .bootstrap,
                figures: receivers[0].figuresToSend(to: receivers.count))
            frame.append(ServerMessage.complete(complete))
        }
        let connections = receivers.map(\.session.connection)
        return connections.count == 1
            ? .send(frame.finish(), to: connections[0]) : .broadcast(frame.finish(), to: connections)
    }
}

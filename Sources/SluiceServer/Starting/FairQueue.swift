/// Elements in the order of arrival for each session. Holders take turns by a clock, and the sessions of each take turns
/// one after the other.
struct FairQueue<Element> {
    private var elements: [SessionID: ArraySlice<Element>] = [:]
    /// The sessions of each holder that have elements, in the order of their turns.
    private var sessions: [Holder: [SessionID]] = [:]
    /// The holders that have elements. Of those who have had equally much, the first comes first.
    private var order: [Holder] = []

    var isEmpty: Bool { order.isEmpty }

    func elements(of session: SessionID) -> ArraySlice<Element> { elements[session] ?? [] }

    /// All elements of a holder.
    func elements(of holder: Holder) -> [Element] { (sessions[holder] ?? []).flatMap { elements(of: $0) } }

    mutating func append(_ element: Element, of session: SessionID, _ holder: Holder) {
        if elements[session] == nil {
            if sessions[holder] == nil { order.append(holder) }
            sessions[holder, default: []].append(session)
        }
        elements[session, default: []].append(element)
    }

    /// Whether the first element of some session is ready.
    func hasNext(where isReady: (Element) -> Bool) -> Bool { order.contains { next(of: $0, isReady) != nil } }

    /// The position of a holder's first session whose first element is ready.
    private func next(of holder: Holder, _ isReady: (Element) -> Bool) -> Int? {
        sessions[holder]?.firstIndex { elements[$0]?.first.map(isReady) ?? false }
    }

    /// Removes and returns the element whose turn it is: of the holders that have one ready, the one that has had least.
    /// The session's next turn comes after those of its holder's others.
    ///
    /// - Complexity: O(n) for the sessions that have elements.
    mutating func next(by clock: inout FairClock, where isReady: (Element) -> Bool) -> Element? {
        var best: (place: Int, session: Int, start: Int)?
        for (place, holder) in order.enumerated() {
            let start = clock.start(of: holder)
            guard start < best?.start ?? .max, let session = next(of: holder, isReady) else { continue }
            best = (place, session, start)
        }
        guard let best else { return nil }
        let holder = order.remove(at: best.place)
        clock.serve(holder)
        guard let session = sessions[holder]?.remove(at: best.session) else { return nil }
        let element = elements[session]?.removeFirst()
        if elements[session]?.isEmpty ?? true {
            elements[session] = nil
        } else {
            sessions[holder]?.append(session)
        }
        if sessions[holder]?.isEmpty ?? true { sessions[holder] = nil } else { order.append(holder) }
        return element
    }

    mutating func forEach(_ body: (inout Element) throws -> Void) rethrows {
        for session in order.flatMap({ sessions[$0] ?? [] }) {
            for index in elements(of: session).indices {
                guard var element = elements[session]?[index] else { continue }
                try body(&element)
                elements[session]?[index] = element
            }
        }
    }

    mutating func removeAll(of session: SessionID, where isMeant: (Element) -> Bool) {
        elements[session]?.removeAll(where: isMeant)
        guard elements[session]?.isEmpty ?? false else { return }
        elements[session] = nil
        for holder in order where sessions[holder]?.contains(session) ?? false {
            sessions[holder]?.removeAll { $0 == session }
            guard sessions[holder]?.isEmpty ?? true else { continue }
            sessions[holder] = nil
            order.removeAll { $0 == holder }
        }
    }
}

/// Elements in order of arrival for each session. They are taken from one session after the other.
struct SessionQueue<Element> {
    private var elements: [SessionID: ArraySlice<Element>] = [:]
    /// The sessions that have elements, in the order of their turns.
    private var order: [SessionID] = []

    var isEmpty: Bool { order.isEmpty }

    func count(of session: SessionID) -> Int { elements[session]?.count ?? 0 }

    func elements(of session: SessionID) -> ArraySlice<Element> { elements[session] ?? [] }

    mutating func append(_ element: Element, of session: SessionID) {
        if elements[session] == nil { order.append(session) }
        elements[session, default: []].append(element)
    }

    /// Whether the first element of some session is ready.
    func hasNext(where isReady: (Element) -> Bool) -> Bool { order.contains { isFirstReady($0, isReady) } }

    private func isFirstReady(_ session: SessionID, _ isReady: (Element) -> Bool) -> Bool {
        elements[session]?.first.map(isReady) ?? false
    }

    /// Removes and returns the first element of the first session in which it is ready. That session's next turn comes after
    /// those of all others.
    mutating func next(where isReady: (Element) -> Bool) -> Element? {
        guard let position = order.firstIndex(where: { isFirstReady($0, isReady) }) else { return nil }
        let session = order.remove(at: position)
        let element = elements[session]?.removeFirst()
        if elements[session]?.isEmpty ?? true { elements[session] = nil } else { order.append(session) }
        return element
    }

    mutating func forEach(_ body: (inout Element) throws -> Void) rethrows {
        for session in order {
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
        order.removeAll { $0 == session }
    }
}

import Foundation
import Sluice

/// Watches one flight from one place, by a query of one object with everything that it links to, its plane included.
final class DetailWatch: @unchecked Sendable {
    // The lock guards the variables.
    private let lock = NSLock()
    private let place: String
    private let screen: Screen
    private var lastText = ""
    private var hasSeenDeparture = false
    private var changeCount = 0

    init(at place: String, screen: Screen) {
        self.place = place
        self.screen = screen
    }

    /// Says what is new about the flight.
    func note(_ change: Change<Flight>) {
        guard let flight = change.results.first else { return }
        let text = Self.text(flight)
        let isNew = lock.withLock {
            hasSeenDeparture = hasSeenDeparture || flight.hasDeparted
            guard text != lastText else { return false }
            lastText = text
            changeCount += 1
            return true
        }
        let mark = change.isInitial ? " " : change.remote == nil ? "●" : "◆"
        if isNew { screen.say("\(mark) detail at the \(place): \(text)") }
    }

    /// Waits until this place has seen the flight depart.
    func untilDeparture(timeout: Duration) async throws {
        let deadline = ContinuousClock.now + timeout
        while ContinuousClock.now < deadline, !lock.withLock({ hasSeenDeparture }) {
            try await Task.sleep(for: .milliseconds(10))
        }
    }

    /// How many times there was something new to say.
    var count: Int { lock.withLock { changeCount } }

    private static func text(_ flight: Flight) -> String {
        let plane = (try? flight.plane?.fetch()).flatMap { $0 }
        let described = plane.map { "\($0.manufacturer) \($0.model), \($0.seats) seats" } ?? "plane not here"
        let delay = flight.delay.map { $0 > 0 ? ", \($0) min late" : ", on time" } ?? ""
        return "\(flight.airlineCode) \(flight.number), \(described)\(delay)\(flight.hasDeparted ? ", departed" : "")"
    }
}

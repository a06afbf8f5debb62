import SluiceAccess
import SluiceModel
import SluiceWire
import Testing

@testable import SluiceServer

/// The table of a session's login, which the header of `SessionLogin` shows.
struct SessionLoginTests {
    enum Phase: CaseIterable {
        case opening, open, renewing
    }

    private static let ada = User(id: "ada", mayExtendSchema: false)
    private static let first = [WireCredentials(.anonymous)]
    private static let second = [WireCredentials(.session, [1])]
    private static let message = ClientMessage.credit(session: 1, pages: 1)

    private static func login(_ phase: Phase) -> SessionLogin {
        var login = SessionLogin(
            database: "any", opening: .init(session: 1, path: "any", schema: Schema()), byteCount: 10)
        if phase != .opening { _ = login.accept(ada) }
        if phase == .renewing { _ = login.renew(first) }
        return login
    }

    private static func phase(of login: SessionLogin) -> Phase {
        switch login.phase {
        case .opening: .opening
        case .open: .open
        case .renewing: .renewing
        }
    }

    @Test func `messages are held while the session opens, as far as there is room`() {
        var login = Self.login(.opening)
        #expect(login.hold(Self.message, byteCount: 7) == true)
        #expect(login.hold(Self.message, byteCount: SessionLogin.heldByteCountMax) == false)
        guard case .opened(let open, let byteCount, let held, let heldByteCount) = login.accept(Self.ada) else {
            Issue.record("the session is not open")
            return
        }
        #expect(open.path == "any" && byteCount == 10)
        #expect(held.count == 1 && heldByteCount == 7)
        for phase in [Phase.open, .renewing] {
            var login = Self.login(phase)
            #expect(login.hold(Self.message, byteCount: 1) == false)
        }
    }

    @Test(arguments: Phase.allCases)
    func `further credentials are too early, checked now, or checked next`(phase: Phase) {
        var login = Self.login(phase)
        switch (phase, login.renew(Self.second)) {
        case (.opening, .tooEarly): #expect(Self.phase(of: login) == .opening)
        case (.open, .checked), (.renewing, .waits): #expect(Self.phase(of: login) == .renewing)
        default: Issue.record("another outcome than the table has")
        }
    }

    @Test(arguments: Phase.allCases)
    func `a login that is accepted leaves the session open, with the last credentials to check next`(phase: Phase) {
        var login = Self.login(phase)
        if phase == .renewing {
            _ = login.renew(Self.first)
            _ = login.renew(Self.second)
        }
        switch (phase, login.accept(Self.ada)) {
        case (.opening, .opened), (.open, .unasked): break
        case (.renewing, .renewed(let next)): #expect(next == Self.second)
        default: Issue.record("another outcome than the table has")
        }
        #expect(Self.phase(of: login) == .open)
        #expect(login.user == Self.ada)
    }

    @Test(arguments: Phase.allCases)
    func `a login that is put off leaves what the session has`(phase: Phase) {
        var login = Self.login(phase)
        if phase == .renewing { _ = login.renew(Self.second) }
        #expect(login.putOff() == (phase == .renewing ? Self.second : nil))
        #expect(Self.phase(of: login) == (phase == .opening ? .opening : .open))
    }

    @Test(arguments: Phase.allCases)
    func `a user is replaced once the session is open`(phase: Phase) {
        var login = Self.login(phase)
        let eve = User(id: "eve", mayExtendSchema: false)
        login.replace(eve)
        #expect(Self.phase(of: login) == phase)
        #expect(login.user == (phase == .opening ? nil : eve))
    }
}

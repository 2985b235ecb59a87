import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './styles.css'
import './parts/empty-lists.ts'
import { createRoot } from 'react-dom/client'
import { App } from './app/app.tsx'

createRoot(document.getElementById('root')!).render(<App />)
